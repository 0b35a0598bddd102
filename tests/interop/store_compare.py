#!/usr/bin/env python3
"""The same calls against PyTorch's own store and another one: results must be the same.

    store_compare.py HOST:PORT [PROCESSES]

HOST:PORT is fresh and used by nobody else. Two parts: the calls of TCPStore that this build has, and
init_process_group("gloo") + all_reduce + barrier with that many processes (default 3), each of them a client, as under a
launcher. What each call does is in store_api.py; here only equality counts. Runs with any torch from 1.13 on.
Exit status: 0 equal, 1 not, 2 usage.
"""
import os
import subprocess
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

VERSION = tuple(int(x) for x in torch.__version__.split(".")[:2])


def client(host, port, master=False, seconds=30, **more):
    return dist.TCPStore(host, port, is_master=master, wait_for_workers=False, timeout=timedelta(seconds=seconds), **more)


def outcome(f, *args):
    """The value; or a word for the failure, as its text differs between versions and addresses."""
    try:
        return f(*args)
    except Exception as e:
        text = str(e).lower()
        return "timeout" if "timeout" in text or "timed out" in text else "error"


def calls(store):
    """Every call and its outcome, in order."""
    done = []

    def do(name, *args):
        if hasattr(store, name):
            done.append((name, args, outcome(getattr(store, name), *args)))

    soon = timedelta(milliseconds=300)
    do("set", "k", "v")
    do("get", "k")
    do("set", "empty", "")
    do("get", "empty")
    do("set", "big", "x" * 100000)
    do("get", "big")
    do("add", "n", 5)
    do("add", "n", -7)
    do("get", "n")
    do("add", "n", 2**62)
    do("wait", ["k", "n"], soon)
    do("wait", ["never"], soon)
    if VERSION >= (2, 1):  # 1.13 has no cancel: its own server answers the abandoned wait into what follows
        do("set", "never", "now")
        do("wait", ["never"], soon)
    do("compare_set", "k", "other", "w")
    do("compare_set", "k", "v", "w")
    do("compare_set", "absent", "something", "w")
    do("compare_set", "fresh", "", "first")
    do("num_keys")
    do("delete_key", "k")
    do("delete_key", "k")
    do("num_keys")
    do("append", "a", "one")
    do("append", "a", "two")
    do("get", "a")
    do("multi_set", ["m1", "m2"], ["x", "yz"])
    do("multi_get", ["m1", "m2", "m1"])
    do("check", ["m1", "m2"])
    do("check", ["m1", "nothing"])
    return done


def worker():
    """One rank of the group, started by group(); prints what it got."""
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    rank, size = dist.get_rank(), dist.get_world_size()
    t = torch.arange(8, dtype=torch.float64) + rank
    dist.all_reduce(t)
    dist.barrier()
    everyone = [None] * size
    dist.all_gather_object(everyone, {"rank": rank})
    dist.barrier()
    print(rank, t.tolist(), everyone, flush=True)
    dist.destroy_process_group()


def group(host, port, size):
    """What all ranks printed, in the order of ranks; a rank that failed says so."""
    shared = dict(os.environ, MASTER_ADDR=host, MASTER_PORT=str(port), WORLD_SIZE=str(size),
                  TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RESTART_COUNT="0", OMP_NUM_THREADS="1")
    ranks = [subprocess.Popen([sys.executable, __file__, "--worker"], env=dict(shared, RANK=str(r), LOCAL_RANK=str(r)),
                              stdout=subprocess.PIPE, text=True) for r in range(size)]
    printed = []
    for p in ranks:
        try:
            out, _ = p.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            p.kill()
            out, _ = p.communicate()
        printed.append((p.returncode, out))
    return printed


def main():
    try:
        host, port = sys.argv[1].rsplit(":", 1)
        port, size = int(port), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    except (IndexError, ValueError):
        print(__doc__, file=sys.stderr)
        return 2
    own = client("127.0.0.1", 0, master=True)
    differences = 0
    for theirs, ours in zip(calls(client("127.0.0.1", own.port)), calls(client(host, port))):
        if theirs != ours:
            differences += 1
            print(f"{theirs[0]}{theirs[1]!r:.80}: PyTorch {theirs[2]!r:.80}, {host}:{port} {ours[2]!r:.80}")
        else:
            print(f"same  {theirs[0]}{theirs[1]!r:.60} = {theirs[2]!r:.60}")
    theirs, ours = group("127.0.0.1", own.port, size), group(host, port, size)
    if theirs != ours or any(status for status, _ in ours):
        differences += 1
        print(f"group of {size}:\n  PyTorch {theirs}\n  {host}:{port} {ours}")
    else:
        print(f"same  gloo group of {size}: all_reduce, barrier, all_gather_object")
    print(f"torch {torch.__version__}: {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--worker"]:
        worker()
    else:
        sys.exit(main())
