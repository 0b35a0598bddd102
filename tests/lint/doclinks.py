#!/usr/bin/env python3
"""Links of the documents lead somewhere: to a file or folder of the tree, and to a heading that is there. Addresses of
the web are not looked at. doclinks.py, or doclinks.py --self."""
import os
import re
import sys

import sources

FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
WEB = re.compile(r"^[a-z]+:")


def anchors(text):
    """As GitHub makes them of headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M)}


def check(document, text, exists, read):
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub(lambda m: "\n" * m.group().count("\n"), text))
    for n, line in enumerate(prose.split("\n"), 1):
        for link in LINK.findall(line):
            name, _, anchor = link.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(document), name)) if name else document
            if WEB.match(link):
                continue
            if not exists(path):
                yield f"{document}:{n}: there is no {path}"
            elif anchor and anchor not in anchors(read(path)):
                yield f"{document}:{n}: {path} has no heading #{anchor}"


def main():
    if sys.argv[1:] == ["--self"]:
        text = "# A b's\n[x](#a-bs) [x](../c.md#d) `[x](none)` [x](https://a.b/)\n```\n[x](none)\n```\n[x](none) [x](#e) [x](../c.md#e)\n"
        got = list(check("a/b.md", text, {"a/b.md", "c.md"}.__contains__, {"a/b.md": text, "c.md": "## D\n"}.__getitem__))
        print("\n".join(got))
        return 0 if len(got) == 3 and all(":6: " in fault for fault in got) else 1
    names = sources.all_files()
    places = set(names) | {os.path.dirname(n)[:i] for n in names for i, c in enumerate(os.path.dirname(n) + "/") if c == "/"}
    documents = [n for n in names if n.endswith(".md")]
    faults = [f for n in documents for f in check(n, sources.read(n), places.__contains__, sources.read)]
    print("\n".join(faults) if faults else f"{len(documents)} documents: every link leads somewhere")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
