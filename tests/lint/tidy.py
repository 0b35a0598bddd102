#!/usr/bin/env python3
"""clang-tidy over every C file of the compilation database, two at a time.

    tidy.py CLANG_TIDY BUILD_FOLDER

A file that was clean is not looked at again until it, a project header it reaches, its command
or .clang-tidy changes: one empty file per clean state is kept in muster/lint-cache of the user's
cache folder, so that a fresh clone need not look at all of them again.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

import sources

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
GCC_ONLY = re.compile(r"^(-Wlogical-op|-Wduplicated-.*|-fsanitize=.*|-Werror)$")


def reached(name, seen):
    """The file and every project file it includes, directly or not."""
    if name in seen or not os.path.isfile(os.path.join(sources.ROOT, name)):
        return seen
    seen.add(name)
    for target in INCLUDE.findall(sources.read(name)):
        reached(target, seen)
        reached(os.path.normpath(os.path.join(os.path.dirname(name), target)), seen)
    return seen


def state(entry, name, tool_version):
    digest = hashlib.sha256(tool_version + sources.read(".clang-tidy").encode())
    digest.update(entry.get("command", "").replace(sources.ROOT, ".").encode())
    for path in sorted(reached(name, set())):
        digest.update(path.encode() + b"\0" + sources.read(path).encode())
    return digest.hexdigest()


def arguments(entry):
    words = entry["command"].split()[1:]
    keep, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-c"):
            skip = True
        elif not GCC_ONLY.match(word):
            keep.append(word.replace('\\"', '"'))
    return keep


def run(tool, entry, name):
    # The analyzer does not know that a cmocka assertion ends the test, so it doubts all that follows one.
    checks = ["--checks=-clang-analyzer-*"] if name.startswith("tests/") else []
    done = subprocess.run([tool, "--quiet", "--warnings-as-errors=*", *checks, name, "--", *arguments(entry)],
                          cwd=sources.ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout + (done.stderr if done.returncode else "")


def main():
    tool, build = sys.argv[1], sys.argv[2]
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "muster", "lint-cache")
    os.makedirs(cache, exist_ok=True)
    version = subprocess.run([tool, "--version"], capture_output=True, check=True).stdout
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        entries = {os.path.relpath(e["file"], sources.ROOT): e for e in json.load(f)}
    wanted = set(sources.c_files((".c",)))
    jobs, clean, bad = {}, 0, 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name in sorted(wanted & entries.keys()):
            mark = os.path.join(cache, state(entries[name], name, version))
            if os.path.exists(mark):
                clean += 1
            else:
                jobs[pool.submit(run, tool, entries[name], name)] = (name, mark)
        for job in concurrent.futures.as_completed(jobs):
            name, mark = jobs[job]
            status, text = job.result()
            if status:
                bad += 1
                print(f"{name}\n{text}", flush=True)
            else:
                open(mark, "w", encoding="utf-8").close()
    print(f"{len(jobs)} files examined, {bad} with findings, {clean} unchanged since they were clean")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
