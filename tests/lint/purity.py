#!/usr/bin/env python3
"""Purity is a test: `nm -u` over the archives of the deciding layers against a list.

    purity.py NM PERMITTED base=ARCHIVE core=ARCHIVE...   archives that are not there are named
    purity.py --self PERMITTED                            checks that the check can fail

A symbol is fine if the list permits it, or a pure layer of the project defines it.
"""
import os
import re
import subprocess
import sys

# Members of base that are pure; log and clock are not, and the core must not reach them.
BASE_PURE = {"err.c.o", "buf.c.o", "str.c.o", "list.c.o", "mem.c.o"}
# Out of memory ends the process in one place.
ONLY_MEM = {"write", "_exit", "abort"}


def symbols(nm, archive):
    """member -> (defined, undefined)"""
    out = subprocess.run([nm, "-A", "-P", archive], capture_output=True, text=True, check=True).stdout
    members = {}
    for line in out.splitlines():
        found = re.match(r".*\[(.+)\]: (\S+) (\S)", line)
        if found:
            member, name, kind = found.groups()
            defined, undefined = members.setdefault(member, (set(), set()))
            (undefined if kind in "Uwv" else defined).add(name)
    return members


def read_permitted(path):
    with open(path, encoding="utf-8") as f:
        rows = [line.split("#")[0].strip() for line in f]
    return re.compile("|".join(f"(?:{row})" for row in rows if row))


def judge(layer, members, own, permitted):
    out = []
    for member, (_, undefined) in sorted(members.items()):
        for name in sorted(undefined):
            if name in own or permitted.fullmatch(name):
                continue
            if layer == "base" and member == "mem.c.o" and name in ONLY_MEM:
                continue
            out.append(f"{layer}: {member} reaches {name}, which is not on the permitted list")
    return out


def self_check(permitted):
    members = {"job.c.o": ({"job_step"}, {"memcpy", "snprintf", "now_ms", "write", "err_set"})}
    got = judge("core", members, {"err_set"}, permitted)
    if len(got) != 2:
        raise SystemExit(f"expected 2 complaints (now_ms, write), got: {got}")
    for name in ("read", "getenv", "time", "rand", "fopen", "fprintf", "clock_gettime", "printf", "socket"):
        if permitted.fullmatch(name):
            raise SystemExit(f"the permitted list lets {name} pass")
    print("made-up offences found")


def main():
    if sys.argv[1] == "--self":
        return self_check(read_permitted(sys.argv[2]))
    nm, permitted = sys.argv[1], read_permitted(sys.argv[2])
    layers, own, faults = {}, set(), []
    for pair in sys.argv[3:]:
        layer, archive = pair.split("=", 1)
        if not os.path.exists(archive):
            print(f"NOT CHECKED: {layer}, no archive {archive}")
            continue
        members = symbols(nm, archive)
        if layer == "base":
            members = {m: s for m, s in members.items() if m in BASE_PURE}
        layers[layer] = members
        own.update(*[defined for defined, _ in members.values()] or [set()])
    for layer, members in layers.items():
        faults += judge(layer, members, own, permitted)
        print(f"{layer}: {len(members)} objects")
    print("\n".join(faults) if faults else "no effects reached")
    return 1 if faults or not layers else 0


if __name__ == "__main__":
    sys.exit(main())
