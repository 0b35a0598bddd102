#!/usr/bin/env python3
"""Names in the documents exist in the tree: paths everywhere, functions and types in those that
walk through the code.

    names.py          checks the documents
    names.py --self   checks that the check can fail

Only what stands between backticks counts. A path may be given from the root, from launcher/ (as in
`core/job.c`) or from the document's own folder, with braces for alternatives.
"""
import fnmatch
import os
import re
import sys

import sources

CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
PATH = re.compile(r"^[\w.{},*-]+(/[\w.{},*-]+)*(/|\.(c|h|cu|md|sh|py|txt|cmake|bats|json|bash))$")
NAME = re.compile(r"^[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)+(\(\))?$|^[a-z][a-z0-9_]*\(\)$")
STRUCT = re.compile(r"^(struct|enum|union) (\w+)$")
PLACEHOLDER = re.compile(r"LAYER|MODULE|NNNN|VERSION")  # tests/unit/LAYER/test_MODULE.c
LOOSE = {"init/", "nccl.h", "error.json", "train.py", "compile_commands.json", "build/"}  # not files of the tree
WALKS = ("docs/life-of-a-job.md", "launcher/README.md", "rendezvous/README.md", "worker/README.md")


def expand(word):
    found = re.search(r"\{([^{}]*)\}", word)
    if not found:
        return [word]
    return [w for part in found.group(1).split(",")
            for w in expand(word[:found.start()] + part.strip() + word[found.end():])]


def path_exists(word, document, files, folders):
    places = ["", "launcher/", os.path.dirname(document) + "/"]
    for one in expand(word):
        candidates = [os.path.normpath(place + one) for place in places]
        if "/" not in one:  # a bare file name: anywhere
            candidates += [f for f in files if fnmatch.fnmatchcase(os.path.basename(f), one)]
        if not any(c in files or c in folders or fnmatch.filter(files, c) for c in candidates):
            return False
    return True


def check(document, text, files, identifiers, walk):
    folders = {os.path.dirname(f)[:n] for f in files for n in
               [i for i, ch in enumerate(os.path.dirname(f) + "/") if ch == "/"]}
    out = []
    for found in CODE.finditer(FENCE.sub(lambda m: "\n" * m.group(0).count("\n"), text)):
        word = found.group(1)
        line = text.count("\n", 0, found.start()) + 1
        struct = STRUCT.match(word)
        if PATH.match(word) and word not in LOOSE and not PLACEHOLDER.search(word) and not word.startswith(("build/", "..")):
            if not path_exists(word, document, files, folders):
                out.append(f"{document}:{line}: there is no {word}")
        elif walk and (NAME.match(word) or struct):
            name = struct.group(2) if struct else word.rstrip("()")
            if name not in identifiers:
                out.append(f"{document}:{line}: the sources know no {word}")
    return out


def identifiers_of(files):
    names = set()
    for name in files:
        if name.endswith((".c", ".h", ".cu", ".txt", ".cmake", ".bats")):
            names.update(re.findall(r"[A-Za-z_]\w+", sources.read(name)))
    return names


def self_check():
    files, known = {"launcher/core/job.c", "docs/x.md"}, {"job_step", "job"}
    text = "`core/job.c` `launcher/core/{job,plan}.c` `job_step()` `job_jump` `struct job` `gone.c`\n"
    got = check("docs/x.md", text, files, known, True)
    if len(got) != 3:
        raise SystemExit(f"expected 3 complaints, got {got}")
    print("made-up offences found")


def main():
    if sys.argv[1:] == ["--self"]:
        return self_check()
    files = set(sources.all_files())
    known, faults, seen = identifiers_of(files), [], 0
    for walk in WALKS:
        if walk not in files:
            print(f"NOT CHECKED: {walk} is not there")
    for document in sorted(f for f in files if f.endswith(".md") and f != "CHANGELOG.md" and not f.startswith("tests/vectors/")):
        seen += 1
        faults += check(document, sources.read(document), files, known, document in WALKS)
    print("\n".join(faults) if faults else f"{seen} documents name only what exists")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
