#!/usr/bin/env python3
"""Words that do not belong into the tree: marks of unfinished work, paths of one machine, trailing
blanks. words.py, or words.py --self."""
import re
import sys

import sources

RULES = [
    (re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b"), "a mark of unfinished work: do it or file it"),
    (re.compile(r"(^|[\s\"'=(`])/(wor" r"k|hom" r"e/\w|Use" r"rs)/"), "a path of one machine"),
    (re.compile(r"\.librar" r"y/"), "a path of one machine"),
    (re.compile(r"^(<{7}|>{7}|={7})( |$)"), "a merge conflict"),
    (re.compile(r"[ \t]+$"), "blanks at the end of the line"),
]
TEXT = (".c", ".h", ".cu", ".md", ".sh", ".py", ".txt", ".cmake", ".bats", ".bash", ".json", ".cpu", ".cuda")
SKIPPED = ("tests/vectors/", "tests/fuzz/corpus/")


def check(name, text):
    return [f"{name}:{n}: {why}: {line.strip()[:80]}"
            for n, line in enumerate(text.split("\n"), 1) for rule, why in RULES if rule.search(line)]


def main():
    if sys.argv[1:] == ["--self"]:
        bad = "// TO" "DO\nx = \"/wor" "k/x\"\n<<<<<<< HEAD\ny \nfine XXXXXX\n"
        got = check("x", bad)
        print(len(got), "made-up offences found")
        return 0 if len(got) == 4 else 1
    names = [n for n in sources.all_files()
             if (n.endswith(TEXT) or "." not in n.rsplit("/", 1)[-1]) and not n.startswith(SKIPPED)]
    faults = [f for n in names for f in check(n, sources.read(n))]
    print("\n".join(faults) if faults else f"{len(names)} files are clean")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
