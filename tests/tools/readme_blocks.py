#!/usr/bin/env python3
"""Runs what README.md shows, and compares.

    readme_blocks.py README BIN console    blocks ```console: each "$ command", its output compared;
                                           ```console four GPUs: the same on four GPUs from a file
    readme_blocks.py README BIN sh         blocks ```sh test: each line must succeed
    readme_blocks.py README BIN --update   rewrites the outputs of the console blocks

Compared are the words; numbers and the host's name may differ, since pids, times and rates do. Lines of `sh test` run
in a folder with a train.py and a package my.package, on four GPUs from a file.
"""
import os
import re
import socket
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(console(?: four GPUs)?|sh test)\n(.*?)^```$", re.M | re.S)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAKE = os.path.join(ROOT, "tests/vectors/devices/inventories.json") + ":N4"


def shape(text):
    text = re.sub(r"\b%s\b" % re.escape(socket.gethostname()), "HOST", text)
    text = re.sub(r"\(host \S+,|(rank +\d+  )\S+(  pid)", r"\1HOST\2", text)
    text = re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "0", text)
    text = re.sub(r"\(no NCCL: [^)]*\)", "(no NCCL)", text)
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if line.strip()]


def environment(bin_dir, **more):
    drop = ("MUSTER_", "PET_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(drop) and k != "CUDA_VISIBLE_DEVICES"}
    env["PATH"] = os.path.abspath(bin_dir) + ":" + env["PATH"]
    env.update(more)
    return env


def console(block, bin_dir, has_gpus):
    """[(command, expected text, actual text)] of one block."""
    out, more = [], {"MUSTER_FAKE_GPUS": FAKE} if has_gpus else {}
    script, parts = "", re.split(r"^\$ (.*)\n", block, flags=re.M)[1:]
    for command, expected in zip(parts[::2], parts[1::2]):
        if command == "echo $?":
            actual = f"{status}\n"
        else:
            run = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment(bin_dir, **more), text=True, timeout=100,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
            actual, status = run.stdout, run.returncode
        out.append((command, expected, actual))
    return out


def run_lines(block, bin_dir):
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(folder + "/my/package")
        for name in ("train.py", "my/package/__main__.py"):
            with open(os.path.join(folder, name), "w") as f:
                f.write("import os\nprint(os.environ['RANK'], os.environ['WORLD_SIZE'])\n")
        for line in filter(None, (x.split("   #")[0].strip() for x in block.splitlines())):
            run = subprocess.run(["bash", "-c", line], cwd=folder, text=True, timeout=100, stdin=subprocess.DEVNULL,
                                 env=environment(bin_dir, MUSTER_FAKE_GPUS=FAKE), stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
            if run.returncode != 0 or not run.stdout.strip():
                print(f"'{line}' ended with {run.returncode}: {run.stdout}")
                bad += 1
    return bad


def main():
    readme, bin_dir, what = sys.argv[1:]
    text = open(readme).read()
    seen = bad = 0
    for kind, block in BLOCK.findall(text):
        if kind.startswith("console") and what != "sh":
            for command, expected, actual in console(block, bin_dir, kind.endswith("GPUs")):
                seen += 1
                if what == "--update":
                    text = text.replace(f"$ {command}\n{expected}", f"$ {command}\n{actual}", 1)
                elif shape(expected) != shape(actual):
                    bad += 1
                    print(f"$ {command}\n--- README says\n{expected}--- it printed\n{actual}")
        elif kind == "sh test" and what == "sh":
            seen += 1
            bad += run_lines(block, bin_dir)
    if what == "--update":
        open(readme, "w").write(text)
    if not seen:
        sys.exit(f"{readme} has no such block")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
