#!/usr/bin/env python3
"""torchrun's own agents with `muster store` as the store of their rendezvous.

    store_torchrun.py --muster PATH --torchrun PATH

Two agents of two workers each meet at the store with the c10d backend, twice under different ids on the same store, and the
workers make a group; then all workers fail once and both agents start them again (without a group: torchrun hosts the store
of the workers itself, and keeps in it what the first attempt left). The static backend cannot use a store that is
there already: its agent of node rank 0 hosts one itself, which is shown. Exit status: 0 all is as it should be, 1 something
is not, 2 usage.
"""
import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

SECONDS = 240
WORKER = r'''
import os, sys
where, fail = sys.argv[1:]
attempt, rank, size = (os.environ[x] for x in ("TORCHELASTIC_RESTART_COUNT", "RANK", "WORLD_SIZE"))
if not fail:
    import torch, torch.distributed as dist
    dist.init_process_group("gloo")
    x = torch.ones(1)
    dist.all_reduce(x)
    size = int(x.item())
    dist.barrier()
    dist.destroy_process_group()
open(os.path.join(where, f"{rank}.{attempt}.{size}"), "w").close()
if fail and attempt == "0":
    sys.exit(7)
'''


def clean_environment():
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("PET_", "MUSTER_", "TORCHELASTIC_"))}
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        keep.pop(name, None)
    return {**keep, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}


def start(words, log):
    with open(log, "w") as out:
        return subprocess.Popen(words, env=clean_environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=out)


def pair(opt, root, name, options, fail):
    """Two agents; their statuses and what their workers left."""
    where = os.path.join(root, name)
    os.mkdir(where)
    agents = [start([opt.torchrun, "--nnodes=2", "--nproc-per-node=2", "--monitor-interval=0.5", *options(node), opt.worker,
                     where, fail], os.path.join(root, f"{name}-{node}.log")) for node in range(2)]
    status = []
    for agent in agents:
        try:
            status.append(agent.wait(timeout=SECONDS))
        except subprocess.TimeoutExpired:
            agent.terminate()
            agent.wait()
            status.append(None)
    return status, sorted(os.listdir(where))


def expect(what, got, right, root, name):
    print(f"{what:58}  {'right' if got == right else 'wrong'}  {got}", flush=True)
    if got != right:
        for node in range(2):
            with open(os.path.join(root, f"{name}-{node}.log"), errors="replace") as f:
                print("".join(f.readlines()[-25:]))
    return got == right


def run(opt, root, at):
    host, port = at.rsplit(":", 1)
    def c10d(run_id, *more):
        return lambda node: ["--rdzv-backend=c10d", f"--rdzv-endpoint={at}", f"--rdzv-id={run_id}", *more]
    once = [f"{rank}.0.4" for rank in range(4)]
    twice = sorted(once + [f"{rank}.1.4" for rank in range(4)])
    good = True
    for name, what in (("one", "c10d: two agents"), ("two", "c10d: another id on the same store")):
        good &= expect(what, pair(opt, root, name, c10d(name), ""), ([0, 0], once), root, name)
    got = pair(opt, root, "again", c10d("again", "--max-restarts=1"), "fail")
    good &= expect("c10d: all workers fail once, --max-restarts=1", got, ([0, 0], twice), root, "again")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free = s.getsockname()[1]
    static = lambda p: lambda node: [f"--node-rank={node}", f"--master-addr={host}", f"--master-port={p}"]
    got = pair(opt, root, "static", static(free), "")
    good &= expect("static: the agent of node 0 hosts its store", got, ([0, 0], once), root, "static")
    agent = start([opt.torchrun, "--nnodes=2", "--rdzv-conf=timeout=10", *static(port)(0), opt.worker, root, ""],
                  os.path.join(root, "taken-0.log"))
    status = agent.wait(timeout=SECONDS)
    shutil.copy(os.path.join(root, "taken-0.log"), os.path.join(root, "taken-1.log"))
    good &= expect("static: a store that is there is in the way", status, 1, root, "taken")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--muster", required=True)
    parser.add_argument("--torchrun", required=True)
    opt = parser.parse_args()
    root = tempfile.mkdtemp(prefix="store-torchrun-")
    opt.worker = os.path.join(root, "worker.py")
    with open(opt.worker, "w") as f:
        f.write(WORKER)
    store = subprocess.Popen([opt.muster, "store"], stdout=subprocess.PIPE, text=True)
    try:
        good = run(opt, root, store.stdout.readline().strip())
    finally:
        store.send_signal(signal.SIGTERM)
        status = store.wait(timeout=SECONDS)
    shutil.rmtree(root, ignore_errors=True)
    return 0 if good and status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
