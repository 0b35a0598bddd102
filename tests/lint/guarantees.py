#!/usr/bin/env python3
"""docs/guarantees.md names tests: each must exist. guarantees.py, or guarantees.py --self."""
import re
import sys

import sources

PAGE = "docs/guarantees.md"
BATS = re.compile(r"`(t\d{4}-[a-z0-9-]+): ([^`]+)`")
TRACE = re.compile(r"`trace/([a-z0-9_]+)`")
SIM = re.compile(r"`sim/([a-z-]+)`")
SCENARIOS = "tests/sim/sim_main.c"
ROW = re.compile(r"^\| (?!promise|---)")


def tests_of(suite, files, read):
    name = f"tests/system/{suite}.bats"
    return set(re.findall(r'^@test "(.*)" \{$', read(name), re.M)) if name in files else set()


def scenarios(files, read):
    return set(re.findall(r'\{"([a-z-]+)", [a-z_]+, ', read(SCENARIOS))) if SCENARIOS in files else set()


def check(text, files, read):
    bad, named = [], 0
    for n, line in enumerate(text.split("\n"), 1):
        here = 0
        for suite, test in BATS.findall(line):
            here += 1
            if test not in tests_of(suite, files, read):
                bad.append(f"{PAGE}:{n}: no such test: {suite}: {test}")
        for trace in TRACE.findall(line):
            here += 1
            if f"tests/trace/{trace}.txt" not in files:
                bad.append(f"{PAGE}:{n}: no such trace: {trace}")
        for scenario in SIM.findall(line):
            here += 1
            if scenario not in scenarios(files, read):
                bad.append(f"{PAGE}:{n}: no such scenario: {scenario}")
        here += line.count("`valgrind/run`")
        if ROW.match(line) and not here:
            bad.append(f"{PAGE}:{n}: a promise that no test holds")
        named += here
    return bad, named


def main():
    if sys.argv[1:] == ["--self"]:
        made = ("| promise | bound | held by |\n|---|---|---|\n| a | | `t1000-x: is there` |\n| b | | `t1000-x: is not` |\n"
                "| c | | `trace/none` |\n| d | | |\n| e | | `sim/one` |\n| f | | `sim/none` |\n")
        there = {"tests/system/t1000-x.bats", SCENARIOS}
        bad, named = check(made, there, lambda name: '@test "is there" {\n    {"one", one, 4, 2, 1},\n')
        print(len(bad), "made-up offences found,", named, "names")
        return 0 if len(bad) == 4 and named == 5 else 1
    bad, named = check(sources.read(PAGE), set(sources.all_files()), sources.read)
    print("\n".join(bad))
    print(named, "tests named")
    return 1 if bad or named < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
