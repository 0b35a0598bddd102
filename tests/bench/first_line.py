#!/usr/bin/env python3
"""Seconds from launching two workers to the first line of their script: muster beside torchrun, interleaved, medians.

    first_line.py [ROUNDS]      muster and torchrun are found through PATH
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time


def once(launcher, script):
    start = time.time()
    out = subprocess.run([*launcher, script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    return min(float(line) for line in out.split()) - start


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    launchers = {"muster": ["muster", "-n", "2"], "torchrun": ["torchrun", "--nproc-per-node", "2"]}
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "first.py")
        with open(script, "w") as f:
            f.write("import time\nprint(time.time(), flush=True)\n")
        seconds = {name: [] for name in launchers}
        for i in range(rounds + 1):
            for name in sorted(launchers, reverse=i % 2 == 1):
                seconds[name].append(once(launchers[name], script))
    median = {name: statistics.median(values[1:]) for name, values in seconds.items()}  # the first one warms up
    for name, values in seconds.items():
        print(f"{name}: median {median[name]:.3f} s", [round(v, 3) for v in values[1:]])
    print(f"ratio {median['torchrun'] / median['muster']:.1f}")


if __name__ == "__main__":
    main()
