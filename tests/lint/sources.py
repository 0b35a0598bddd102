"""Which files the checks look at: those of the project's own folders, in a fixed order.

A checkout asks git (so that nothing built or private is read); a source archive walks the tree.
"""
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = {".git", "build", "out", "__pycache__"}


def _walk():
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in SKIPPED and not f.startswith("build")]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), ROOT)


def _git():
    out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         cwd=ROOT, capture_output=True, check=True).stdout
    return [name for name in out.decode().split("\0") if name]


def all_files():
    """Paths relative to the root, sorted; only what exists."""
    names = _git() if os.path.exists(os.path.join(ROOT, ".git")) else _walk()
    return sorted(n for n in set(names) if os.path.isfile(os.path.join(ROOT, n)))


def c_files(suffixes=(".c", ".h")):
    return [n for n in all_files() if n.endswith(suffixes) and not n.startswith("tests/vectors/")]


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as f:
        return f.read()
