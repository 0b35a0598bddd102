#!/usr/bin/env python3
"""clang-format over every C file: format.py CLANG_FORMAT. Changes nothing."""
import subprocess
import sys

import sources


def main():
    files = sources.c_files()
    done = subprocess.run([sys.argv[1], "--dry-run", "-Werror", "--style=file", *files], cwd=sources.ROOT)
    if done.returncode == 0:
        print(f"{len(files)} files are as {sys.argv[1]} writes them")
    else:
        print(f"mend with: {sys.argv[1]} -i FILE")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
