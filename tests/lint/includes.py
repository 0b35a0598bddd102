#!/usr/bin/env python3
"""Holds the layers: every #include of every C file against the tables in layers.txt.

    includes.py            checks the tree
    includes.py --self     checks that the check can fail, on made-up files
"""
import fnmatch
import os
import re
import sys

import sources

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
SOURCE = (".c", ".h", ".cu")


class Rules:
    def __init__(self, text):
        self.layers, self.allow, self.system, self.extra = [], {}, [], []
        self.pure, self.harmless = set(), set()
        for line in text.splitlines():
            line = line.split("#")[0].strip()
            if line:
                self._row(*[part.strip() for part in (line + ":").split(":")[:2]])

    def _row(self, head, rest):
        kind, _, name = head.partition(" ")
        words, name = rest.split(), name.strip()
        if kind == "layer":
            self.layers.append((name, words))
        elif kind == "allow":
            self.allow[name] = set(words)
        elif kind == "system":
            self.system.append((name, words))
        elif kind == "extra":
            self.extra.append((name, words))
        elif kind == "pure":
            self.pure.add(name)
        elif kind == "harmless":
            self.harmless.update(words)
        else:
            raise SystemExit(f"layers.txt: unknown row '{kind}'")

    def layer_of(self, path):
        return next((n for n, globs in self.layers if match(path, globs)), None)

    def is_extra(self, path, target):
        return any(path == name and target in words for name, words in self.extra)


def match(path, globs):
    return any(fnmatch.fnmatchcase(path, g) for g in globs)


def project_include(rules, layer, path, target, files):
    if target not in files:
        beside = os.path.normpath(os.path.join(os.path.dirname(path), target))
        if layer not in ("tests", "examples") and beside in files:
            return f'writes "{target}"; from the root it is "{beside}"'
        if beside not in files:
            return None if layer in ("tests", "worker") else f'includes "{target}", which does not exist'
        target = beside
    other = rules.layer_of(target)
    allowed = rules.allow.get(layer, set())
    if other == layer or "*" in allowed or other in allowed or rules.is_extra(path, target):
        return None
    return f'{layer} must not include "{target}" ({other})'


def system_include(rules, layer, path, target):
    for pattern, globs in rules.system:
        if fnmatch.fnmatchcase(target, pattern) and not match(path, globs):
            return f"<{target}> has its place in: {' '.join(globs) or 'no file'}"
    if layer in rules.pure and target not in rules.harmless and not rules.is_extra(path, target):
        return f"{layer} is pure; <{target}> is not on its list"
    return None


def check(rules, texts):
    """texts: path -> content. Returns complaints."""
    out = []
    for path, text in sorted(texts.items()):
        layer = rules.layer_of(path)
        if layer is None:
            out.append(f"{path}: belongs to no layer of tests/lint/layers.txt")
            continue
        for found in INCLUDE.finditer(text):
            line = text.count("\n", 0, found.start(1)) + 1
            kind, target = found.groups()
            fault = (project_include(rules, layer, path, target, texts) if kind == '"'
                     else system_include(rules, layer, path, target))
            if fault:
                out.append(f"{path}:{line}: {fault}")
    return out


def self_check(rules):
    bad = {"base/err.h": "", "launcher/core/job.h": "", "launcher/io/spawn.h": "",
           "rendezvous/port.h": "", "worker/bind.h": "",
           "base/str.c": '#include "launcher/core/job.h"\n',
           "base/buf.c": "#include <unistd.h>\n",
           "launcher/core/job.c": '#include "launcher/io/spawn.h"\n',
           "launcher/core/plan.c": "#include <time.h>\n",
           "launcher/core/node.c": "#include <uv.h>\n",
           "rendezvous/store_client.c": '#include "rendezvous/port.h"\n',
           "rendezvous/store.c": "#  include  <sodium.h>\n",
           "launcher/io/child.c": "#include <jansson.h>\n",
           "launcher/io/output.c": '#include "spawn.h"\n',
           "launcher/io/notify.c": '#include "launcher/io/absent.h"\n',
           "worker/main.c": '#include "launcher/core/job.h"\n',
           "worker/pattern.c": "#include <cuda_runtime_api.h>\n",
           "other/x.c": ""}
    good = {"base/err.h": "", "base/log.h": "", "launcher/core/job.h": "", "launcher/io/spawn.h": "",
            "base/mem.c": "#include <unistd.h>\n", "launcher/cmd/run.c": '#include "launcher/core/job.h"\n',
            "launcher/io/spawn.c": '#include <uv.h>\n#include "launcher/core/job.h"\n#include "base/log.h"\n',
            "tests/unit/core/test_job.c": '#include <uv.h>\n#include "launcher/core/job.h"\n'}
    want = sum(1 for text in bad.values() if text) + 1
    got, none = check(rules, bad), check(rules, good)
    if len(got) != want or none:
        print("\n".join(got + none))
        raise SystemExit(f"expected {want} complaints and none, got {len(got)} and {len(none)}")
    print(f"{want} made-up offences found, none in correct files")


def main():
    rules = Rules(sources.read("tests/lint/layers.txt"))
    if sys.argv[1:] == ["--self"]:
        return self_check(rules)
    texts = {n: sources.read(n) for n in sources.c_files(SOURCE)}
    faults = check(rules, texts)
    print("\n".join(faults) if faults else f"{len(texts)} files keep to their layers")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
