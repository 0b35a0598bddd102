#!/usr/bin/env python3
"""shellcheck over every script: shell.py SHELLCHECK. A script is what ends in .sh, .bash or .bats, or
opens with a shell's name."""
import re
import subprocess
import sys

import sources

SHEBANG = re.compile(r"^#!.*\b(ba|da)?sh\b")


def is_script(name):
    if name.endswith((".sh", ".bash", ".bats")):
        return True
    return "." not in name.rsplit("/", 1)[-1].lstrip(".") and bool(SHEBANG.match(sources.read(name)[:64]))


def main():
    names = [n for n in sources.all_files() if is_script(n)]
    # SC1091: files read by `source` are checked on their own. SC2030, SC2031: a bats test is a subshell.
    # SC2034, SC2154: a suite and its helpers share status, output, stderr.
    done = subprocess.run([sys.argv[1], "--severity=warning", "-e", "SC1091,SC2030,SC2031,SC2034,SC2154", *names], cwd=sources.ROOT)
    print(f"{len(names)} scripts examined")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
