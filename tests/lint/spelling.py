#!/usr/bin/env python3
"""Spelling: spelling.py CODESPELL. Words that are right here are in spelling_words.txt."""
import os
import subprocess
import sys

import sources


def main():
    names = [n for n in sources.all_files()
             if n.endswith((".c", ".h", ".md", ".sh", ".py", ".cmake", ".bats", ".bash"))]
    words = os.path.join(sources.ROOT, "tests/lint/spelling_words.txt")
    done = subprocess.run([sys.argv[1], "-I", words, *names], cwd=sources.ROOT)
    print(f"{len(names)} files examined")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
