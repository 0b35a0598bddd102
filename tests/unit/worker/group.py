#!/usr/bin/env python3
"""Runs a group of muster-workers against a store of its own and compares how it ends.

usage: group.py --store STORE_SERVE --worker WORKER [--ranks N] [--nodes N] [--status S]
                [--match REGEX]... [--once REGEX]... [--each S] [--json FILE] [-- worker options]

Like a launcher it ends all ranks once one has failed; that first status must be S. Every REGEX
must be found in what the ranks printed, one of --once just one time. --each: all ranks must end
with S by themselves.
"""
import argparse
import json
import os
import re
import selectors
import subprocess
import sys
import tempfile
import time

LIMIT_S = 300


def environment(address, rank, args):
    host, port = address.rsplit(":", 1)
    local = args.ranks // args.nodes
    env = dict(os.environ)
    env.update(RANK=str(rank), LOCAL_RANK=str(rank % local), MUSTER_LOCAL_RANK=str(rank % local),
               WORLD_SIZE=str(args.ranks), LOCAL_WORLD_SIZE=str(local), GROUP_RANK=str(rank // local),
               GROUP_WORLD_SIZE=str(args.nodes), MASTER_ADDR=host, MASTER_PORT=port,
               MUSTER_JOB_ID="test", MUSTER_TEST_TOKEN="do-not-print", NCCL_NVLS_ENABLE="0")
    return env


def supervise(ranks, each):
    """Waits for all; returns the first bad status, or 0, and the statuses by rank."""
    statuses, first = {}, 0
    with selectors.DefaultSelector() as watch:
        for rank, child in enumerate(ranks):
            watch.register(os.pidfd_open(child.pid), selectors.EVENT_READ, rank)
        end = time.monotonic() + LIMIT_S
        while len(statuses) < len(ranks):
            ready = watch.select(max(0, end - time.monotonic()))
            if not ready:
                raise SystemExit(f"still running after {LIMIT_S} s")
            for key, _ in ready:
                watch.unregister(key.fd)
                os.close(key.fd)
                status = ranks[key.data].wait()
                statuses[key.data] = 128 - status if status < 0 else status
                if first == 0 and status != 0:
                    first = statuses[key.data]
                    if not each:
                        for child in ranks:
                            child.kill()
    return first, [statuses[r] for r in range(len(ranks))]


def run(args, worker_options):
    with subprocess.Popen([args.store, "127.0.0.1", "0"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as store, \
            tempfile.TemporaryFile("w+", errors="replace") as output:
        ranks = []
        try:
            address = store.stdout.readline().split()[1]
            for rank in range(args.ranks):
                ranks.append(subprocess.Popen([args.worker, *worker_options], stdout=output,
                                              stderr=output, env=environment(address, rank, args)))
            first, statuses = supervise(ranks, args.each is not None)
        finally:
            for child in ranks:
                child.kill()
                child.wait()
            store.stdin.close()
            store.wait(LIMIT_S)
        output.seek(0)
        return first, statuses, output.read()


def check_json(path, text):
    if path == "-":
        result = json.loads(text)
    else:
        with open(path, encoding="utf-8") as f:
            result = json.load(f)
    assert result["schema"] == "muster.check/1", result["schema"]
    assert result["results"], "no results"
    for row in result["results"]:
        assert row["wrong"] == 0 and row["verdict"] == "ok", row
        assert len(row["time_us"]["per_rank"]) == result["job"]["world_size"], row
    assert len(result["ranks"]) == result["job"]["world_size"]
    assert result["env"].get("MUSTER_TEST_TOKEN") == "***", "a secret is published"
    assert result["env"].get("NCCL_NVLS_ENABLE") == "0", "NCCL_NVLS_ENABLE was changed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", required=True)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--status", type=int, default=0)
    parser.add_argument("--each", type=int)
    parser.add_argument("--match", action="append", default=[])
    parser.add_argument("--once", action="append", default=[])
    parser.add_argument("--json")
    own = sys.argv[1:]
    options = own[own.index("--") + 1:] if "--" in own else []
    args = parser.parse_args(own[:own.index("--")] if "--" in own else own)
    if args.json and args.json != "-":
        args.json = os.path.join(tempfile.mkdtemp(), "result.json")
    if args.json:
        options += ["--json", args.json]
    first, statuses, text = run(args, options)
    print(text)
    print("statuses:", *statuses)
    failures = []
    if args.each is not None and any(s != args.each for s in statuses):
        failures.append(f"every rank should end with {args.each}")
    if args.each is None and first != args.status:
        failures.append(f"first status {first}, expected {args.status}")
    failures += [f"not printed: {m}" for m in args.match if not re.search(m, text, re.S)]
    failures += [f"not printed once: {m}" for m in args.once if len(re.findall(m, text)) != 1]
    if args.json and not failures:
        check_json(args.json, text)
    if failures:
        raise SystemExit("\n".join(failures))


main()
