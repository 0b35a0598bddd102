#!/usr/bin/env python3
"""Pictures of docs/samples are shown on a page that the tree has, and are small. pictures.py, or pictures.py --self."""
import os
import re
import sys

import sources

FOLDER, SUFFIXES, LIMIT = "docs/samples/", (".png", ".svg"), 60_000
PICTURE = re.compile(r"!\[[^\]]+\]\(([^)\s]+)\)")  # with words for those who do not see it


def shown(pages):
    """Paths of the pictures that these pages, (path, text), show."""
    return {os.path.normpath(os.path.join(os.path.dirname(path), link)) for path, text in pages for link in PICTURE.findall(text)}


def check(pictures, pages):
    on_pages = shown(pages)
    for path, size in pictures:
        if path not in on_pages:
            yield f"{path}: no page shows it, as ![what it is]({path})"
        if size > LIMIT:
            yield f"{path}: {size} bytes, more than {LIMIT}"


def main():
    if sys.argv[1:] == ["--self"]:
        pages = [("docs/a.md", "![a](samples/a.png) ![](samples/b.png)"), ("A.md", "![c](docs/samples/c.svg)")]
        got = list(check([("docs/samples/a.png", 9), ("docs/samples/b.png", 9), ("docs/samples/c.svg", LIMIT + 1)], pages))
        print("\n".join(got))
        return 0 if len(got) == 2 and "b.png: no page" in got[0] and "c.svg: 60001" in got[1] else 1
    files = sources.all_files()
    pages = [(path, sources.read(path)) for path in files if path.endswith(".md")]
    pictures = [(path, os.path.getsize(os.path.join(sources.ROOT, path))) for path in files if path.startswith(FOLDER) and path.endswith(SUFFIXES)]
    faults = list(check(pictures, pages)) or ([] if pictures else [f"no picture in {FOLDER}"])
    print("\n".join(faults) if faults else f"{len(pictures)} pictures: each is shown and small")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
