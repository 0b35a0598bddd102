#!/usr/bin/env python3
"""How often does a restarted group come together again?  restart.py many times in a row, under muster or under torchrun.

    restart_score.py muster MUSTER PYTHON [--times 50] [-n 2] [--late 3]
    restart_score.py torchrun PYTHON [--times 5] [-n 2] [--late 3]

Rank 0 comes back late in every second run. Two things are counted: that all ranks joined and reduced again, and that they found an
empty store. Prints one line a run that failed in the first, then the score. Exit status: 0 both in all runs.
"""
import argparse
import os
import subprocess
import sys
import time

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "restart.py")


def main():
    opt = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    opt.add_argument("launcher", choices=("muster", "torchrun"))
    opt.add_argument("programs", nargs="+")
    opt.add_argument("--times", type=int, default=50)
    opt.add_argument("-n", default="2")
    opt.add_argument("--late", default="3")
    opt.add_argument("--deadline", type=float, default=300, help="of one run, in seconds")
    opt = opt.parse_args()
    python = opt.programs[-1]
    if opt.launcher == "muster":
        command = [opt.programs[0], "-n", opt.n, "--max-restarts", "1", SCRIPT]
    else:
        command = [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", opt.n, "--max-restarts", "1", SCRIPT]
    env = {**os.environ, "PYTHON": python, "OMP_NUM_THREADS": "1"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    joined, fresh, walls = 0, 0, []
    for number in range(opt.times):
        late = opt.late if number % 2 else "0"
        begin = time.monotonic()
        p = subprocess.Popen([*command, "--late", late], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            out, _ = p.communicate(timeout=opt.deadline)
        except subprocess.TimeoutExpired:
            p.terminate()
            out, _ = p.communicate()
        walls.append(time.monotonic() - begin)
        lines = [line for line in out.splitlines() if "attempt 1 rank" in line]
        together = sum("joined in" in line for line in lines)
        joined += together == int(opt.n)
        fresh += sum("store fresh" in line for line in lines) == int(opt.n) and p.returncode == 0
        if together != int(opt.n):
            why = [line for line in lines if "FAILED" in line][:1]
            print(f"run {number}, late {late} s: status {p.returncode}, {together} of {opt.n} joined; {' '.join(why)}", flush=True)
    walls.sort()
    print(f"{opt.launcher}: {joined} of {opt.times} joined again, {fresh} with an empty store; median {walls[len(walls) // 2]:.1f} s a run")
    return 0 if fresh == opt.times else 1


if __name__ == "__main__":
    sys.exit(main())
