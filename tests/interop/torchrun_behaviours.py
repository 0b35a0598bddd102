#!/usr/bin/env python3
"""The checks that torchrun's own tests make, made of torchrun and of muster under the name torchrun, side by side.

    torchrun_behaviours.py --muster PATH [--torchrun PATH] [--python PATH] [--only 1,5,23]

--torchrun: a real one to compare with; without it muster alone is held to what is expected. --python: one with torch, for the
checks whose workers import it (default: that of --torchrun). One line a check: number, what, torchrun's answer, muster's, and
    equal    the same answer
    better   another one, and the one that is meant, with the reason
    worse    another one
    not run  with the reason
Exit status: 0 nothing is worse, 1 something is, 2 usage.
"""
import argparse
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SECONDS = 120  # for one run: far more than any needs
CHECKS = []
WORKER = r'''
import json, os, signal, sys, time
rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
verb, rest = sys.argv[1], sys.argv[2:]

def leave(name, text=""):
    with open(name, "w") as f:
        f.write(text)

if verb == "touch":
    leave(os.path.join(rest[0], rank))
elif verb == "env":
    keys = ("RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK ROLE_NAME "
            "CUDA_VISIBLE_DEVICES MASTER_PORT").split()
    leave(os.path.join(rest[0], rank + "." + attempt), json.dumps({k: os.environ.get(k) for k in keys}))
    if rest[1:] == ["fail"] and attempt == "0":
        sys.exit(7)
elif verb == "exit":
    leave(os.path.join(rest[0], "up." + rank + "." + attempt))
    if rank == rest[1]:
        sys.exit(int(rest[2]))
    time.sleep(600)
elif verb == "segv":
    if rank == "0":
        os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(600)
elif verb == "error":
    if rank == "1":
        text = {"message": "RuntimeError: boom", "extraInfo": {"py_callstack": "x", "timestamp": "1700000000"}}
        leave(os.environ["TORCHELASTIC_ERROR_FILE"], json.dumps({"message": text}))
        sys.exit(1)
    time.sleep(600)
elif verb == "say":
    for _ in range(int(rest[0]) if rest else 1):
        os.write(1, b"out of %s\n" % rank.encode())
        os.write(2, b"err of %s\n" % rank.encode())
elif verb == "halves":
    for i in range(int(rest[0])):
        os.write(1, b"half %d of %s " % (i, rank.encode()))
        if i % 100 == 0:
            time.sleep(0.01)
        os.write(1, b"end\n")
elif verb == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    leave(os.path.join(rest[0], "deaf." + rank))
    while rank != "0":
        time.sleep(600)
    while len(os.listdir(rest[0])) < 2:
        time.sleep(0.02)
    sys.exit(5)
elif verb == "child":
    if os.fork() == 0:
        os.setsid()
        os.execvp("sleep", ["sleep", "600"])
elif verb == "slow":
    leave(os.path.join(rest[0], rank + "." + attempt))
    while not os.path.exists(rest[1]):
        time.sleep(0.05)
elif verb == "torchelastic":
    import torch.distributed as dist
    leave(os.path.join(rest[0], rank), str(dist.is_torchelastic_launched()))
elif verb == "group":
    import torch, torch.distributed as dist
    dist.init_process_group("gloo", init_method=rest[1], rank=int(rank), world_size=int(os.environ["WORLD_SIZE"]))
    x = torch.ones(1)
    dist.all_reduce(x)
    leave(os.path.join(rest[0], rank), str(int(x.item())))
    dist.barrier()
elif verb == "record":
    from torch.distributed.elastic.multiprocessing.errors import record

    @record
    def main():
        if rank == "1":
            raise RuntimeError("boom")
        time.sleep(600)
    main()
'''


def check(number, what, expect, why="", needs=()):
    """Registers a check. expect: muster's right answer; why: the reason where torchrun's may be another one. needs: words of
    what the machine has to have; those that begin with torchrun: concern torchrun alone."""
    def add(f):
        CHECKS.append((number, what, expect, why, (needs,) if isinstance(needs, str) else needs, f))
        return f
    return add


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def refused(self):
        """What became of bad input: the status, for nothing may have been started."""
        return f"refused, {self.status}" if self.status not in (0, "no end") else f"taken, {self.status}"


class Launcher:
    """One launcher in a folder of its own. Every process it starts carries a mark in its environment."""

    def __init__(self, name, path, python, root):
        self.name, self.path, self.python, self.root = name, path, python, root
        self.is_muster = name == "muster"
        self.count = 0

    def begin(self):
        """A fresh folder, the current one of what is launched."""
        self.count += 1
        self.nruns = 0
        self.dir = os.path.join(self.root, f"{self.name}-{self.count}")
        os.makedirs(self.dir)
        self.mark = f"{os.getpid()}-{self.name}-{self.count}"

    def folder(self, name):
        path = os.path.join(self.dir, name)
        os.makedirs(path, exist_ok=True)
        return path

    def start(self, args, env=None, limit=None):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("PET_", "MUSTER_", "TORCHELASTIC_", "CUDA_"))}
        for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS"):
            keep.pop(name, None)
        keep.update({"BEHAVIOUR_MARK": self.mark, "PYTHON": self.python, "PYTHON_EXEC": self.python, **(env or {})})
        before = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))) if limit else None
        # into files: what is left behind may hold a pipe open for ever
        self.nruns += 1
        names = [os.path.join(self.dir, f"run-{self.nruns}.{stream}") for stream in ("out", "err")]
        with open(names[0], "w") as out, open(names[1], "w") as err:
            process = subprocess.Popen([self.path, *map(str, args)], cwd=self.dir, env=keep, stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=err, preexec_fn=before)
        process.names = names
        return process

    def end(self, process, seconds=SECONDS):
        try:
            status = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.sweep()
            process.kill()
            process.wait()
            status = "no end"
        return Result(status, *map(read, process.names))

    def run(self, *args, env=None, limit=None):
        return self.end(self.start(args, env, limit))

    def left(self):
        """Processes of this run that are still there."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if f"BEHAVIOUR_MARK={self.mark}".encode() in f.read().split(b"\0"):
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def sweep(self):
        for pid in self.left():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def eventually(what, seconds=SECONDS):
    """Whether it came true before the deadline."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def files(path):
    return " ".join(sorted(os.listdir(path)))


def read(path):
    with open(path, errors="replace") as f:
        return f.read()


def environments(path):
    """Rank to what it saw, by attempt: {(rank, attempt): {...}}"""
    return {tuple(map(int, name.split("."))): json.loads(read(os.path.join(path, name))) for name in os.listdir(path)}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", int(port))) == 0


def logs(path):
    """Log files that are there, below the attempt's folder."""
    found = []
    for where, _, names in os.walk(path):
        found += [os.path.join(where, n).split("/attempt_", 1)[1] for n in names if n.endswith(".log")]
    return " ".join(sorted(found))


FOUR = ["--nnodes=1", "--nproc-per-node=4", "--rdzv-id=X", "--monitor-interval=1"]
STATUS_2 = "status 2 and one line, before anything starts"
OWN_STATUS = "the worker's own status"


# ---- one node ------------------------------------------------------------------------------------------------------------
@check(1, "4 workers", (0, "0 1 2 3"))
def _(t, d):
    return t.run(*FOUR, t.worker, "touch", d).status, files(d)


@check(2, "the same with address, port and rank of the node", (0, "0 1 2 3"))
def _(t, d):
    r = t.run(*FOUR, "--master-addr=localhost", f"--master-port={free_port()}", "--node-rank=0", t.worker, "touch", d)
    return r.status, files(d)


@check(3, "--no-python", (0, "0 1 2 3"))
def _(t, d):
    script = os.path.join(t.dir, "test.sh")
    with open(script, "w") as f:
        f.write('#!/bin/sh\n: >"$1/$RANK"\n')
    os.chmod(script, 0o755)
    return t.run(*FOUR, "--no-python", script, d).status, files(d)


@check(4, "--no-python --module", "refused, 2", STATUS_2)
def _(t, d):
    return t.run("--no-python", "--module", "x").refused()


@check(5, "without --nproc-per-node", (0, "0"))
def _(t, d):
    return t.run("--nnodes=1", t.worker, "touch", d).status, files(d)


@check(6, "options as PET_ variables", (0, "0 1 2 3"))
def _(t, d):
    env = {"PET_NNODES": "1", "PET_NPROC_PER_NODE": "4", "PET_RDZV_ID": "X", "PET_MONITOR_INTERVAL": "1",
           "PET_START_METHOD": "spawn", "PET_NO_PYTHON": "0"}
    return t.run(t.worker, "touch", d, env=env).status, files(d)


@check(7, "PET_NO_PYTHON=1 with PET_MODULE=1, =0", ("refused, 2", 0, "0"), STATUS_2)
def _(t, d):
    first = t.run("true", env={"PET_NO_PYTHON": "1", "PET_MODULE": "1"}).refused()
    script = os.path.join(t.dir, "t.sh")
    with open(script, "w") as f:
        f.write('#!/bin/sh\n: >"$1/$RANK"\n')
    os.chmod(script, 0o755)
    return first, t.run(script, d, env={"PET_NO_PYTHON": "1", "PET_MODULE": "0"}).status, files(d)


@check(8, "auto without a GPU", "a worker for each CPU")
def _(t, d):
    status = t.run("--nproc-per-node=auto", t.worker, "touch", d).status
    cpus = len(os.sched_getaffinity(0))
    return "a worker for each CPU" if (status, len(os.listdir(d))) == (0, cpus) else f"{status}: {files(d)}, {cpus} CPUs"


@check(9, "gpu and auto with 3 GPUs", ("0 1 2", "0 1 2"), needs=("fake GPUs", "torchrun: 3 GPUs"))
def _(t, d):
    found = []
    for word in ("gpu", "auto"):
        where = t.folder(word)
        t.run(f"--nproc-per-node={word}", t.worker, "touch", where, env={"MUSTER_FAKE_GPUS": t.four_gpus, "CUDA_VISIBLE_DEVICES": "0,1,3"})
        found.append(files(where))
    return tuple(found)


@check(10, "--nproc-per-node=unknown", "refused, 2", STATUS_2)
def _(t, d):
    return t.run("--nproc-per-node=unknown", t.worker, "touch", d).refused()


@check(12, "c10d, a worker fails: an end, once", (3, "up.0.0"), OWN_STATUS)
def _(t, d):
    r = t.run("--nnodes=1", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", t.worker, "exit", d, "0", "3")
    return r.status, files(d)


@check(13, "an error in the launcher itself", "non-zero, nothing left")
def _(t, d):
    r = t.run("--nproc-per-node=16", "--tee=3", t.worker, "touch", d, limit=24)
    gone = eventually(lambda: not t.left(), 20)
    return "non-zero, nothing left" if r.status not in (0, "no end") and gone else f"{r.status}, left {t.left()}"


@check(14, "--standalone", (0, "0 1 2 3"))
def _(t, d):
    return t.run("--standalone", "--nproc-per-node=4", t.worker, "touch", d).status, files(d)


@check(15, "--run-path", (0, "0 1 2 3"))
def _(t, d):
    return t.run("--run-path", "--nnodes=1", "--nproc-per-node=4", t.worker, "touch", d).status, files(d)


@check(17, "--nnodes 1, 2:20:30", (0, "refused, 2"), STATUS_2)
def _(t, d):
    one = t.run("--nnodes=1", t.worker, "touch", d).status
    return one, t.run("--nnodes=2:20:30", t.worker, "touch", d).refused()


@check(18, "a good end: nothing listens", (0, "nobody"))
def _(t, d):
    status = t.run("--nproc-per-node=2", t.worker, "env", d).status
    port = environments(d)[0, 0]["MASTER_PORT"]
    return status, "somebody" if listens(port) else "nobody"


@check(19, "is_torchelastic_launched()", (0, "True"), needs="torch")
def _(t, d):
    status = t.run("--nproc-per-node=1", t.worker, "torchelastic", d).status
    return status, read(os.path.join(d, "0"))


@check(20, "--logs-specs=NONE", "refused, 2", STATUS_2)
def _(t, d):
    return t.run("--logs-specs=NONE", t.worker, "touch", d).refused()


@check(21, "a group through tcp://localhost:PORT", (0, "2 2"), needs="torch")
def _(t, d):
    port = free_port()
    status = t.run("--nproc-per-node=2", "--master-addr=localhost", f"--master-port={port}", t.worker, "group", d,
                   f"tcp://localhost:{port}").status
    return status, " ".join(read(os.path.join(d, x)) for x in sorted(os.listdir(d)))


@check(22, "a group through env://", (0, "2 2"), needs="torch")
def _(t, d):
    status = t.run("--nproc-per-node=2", t.worker, "group", d, "env://").status
    return status, " ".join(read(os.path.join(d, x)) for x in sorted(os.listdir(d)))


@check(23, "--redirect=3 --tee=3 with a template", (0, "[rank0]: out of 0|[rank1]: out of 1"))
def _(t, d):
    r = t.run("--nproc-per-node=2", "--redirect=3", "--tee=3", "--log-line-prefix-template=[rank${rank}]: ", t.worker, "say")
    return r.status, "|".join(sorted(r.out.splitlines()))


@check(24, "--virtual-local-rank on 2 GPUs", (0, "0:4", "0:5", "[default0]:out of 0|[default1]:out of 1"))
def _(t, d):
    env = {"CUDA_VISIBLE_DEVICES": "4,5"}
    status = t.run("--nproc-per-node=2", "--virtual-local-rank", t.worker, "env", d, env=env).status
    seen = environments(d)
    lines = t.run("--nproc-per-node=2", "--virtual-local-rank", "--tee=1", t.worker, "say", env=env).out.splitlines()
    return status, *(f"{e['LOCAL_RANK']}:{e['CUDA_VISIBLE_DEVICES']}" for _, e in sorted(seen.items())), "|".join(sorted(lines))


@check(25, "rank 0 exits 138", 138, OWN_STATUS + ", said not to be a signal")
def _(t, d):
    return t.run("--nproc-per-node=2", t.worker, "exit", d, "0", "138").status


@check(26, "SIGSEGV in rank 0", (139, "all gone"), "128+N, as a shell has it")
def _(t, d):
    status = t.run("--nproc-per-node=2", t.worker, "segv").status
    return status, "all gone" if eventually(lambda: not t.left(), 20) else f"left {t.left()}"


@check(27, "the program does not exist", "refused, 127", "as a shell has it")
def _(t, d):
    return t.run("--no-python", "no-such-program").refused()


@check(28, "-r 0:2,1:0 -t 0:1,1:2", (0, "0/0/stderr.log 0/0/stdout.log 0/1/stderr.log"))
def _(t, d):
    status = t.run("--nproc-per-node=2", "-r", "0:2,1:0", "-t", "0:1,1:2", "--log-dir", d, t.worker, "say").status
    return status, logs(d)


@check(29, "what workers have started", (0, "all gone"), "descendants too")
def _(t, d):
    status = t.run("--nproc-per-node=2", t.worker, "child").status
    return status, "all gone" if eventually(lambda: not t.left(), 5) else "left behind"


@check(30, "-r 0, 1, by rank, garbage, 12:3", ("", "0/0/stdout.log", "0/0/stderr.log 0/0/stdout.log", "refused, 2", 0),
       STATUS_2 + "; any rank number")
def _(t, d):
    found = []
    for i, value in enumerate(("0", "1", "0:3,1:0,2:1,3:2")):
        where = t.folder(f"logs{i}")
        t.run("-r", value, "--log-dir", where, t.worker, "say")
        found.append(logs(where))
    return *found, t.run("-r", "0:x", t.worker, "say").refused(), t.run("-r", "12:3", t.worker, "say").status


@check(31, "a rank raises under @record", (1, "named", "rank 1"), needs="torch")
def _(t, d):
    r = t.run("--nproc-per-node=2", t.worker, "record")
    first = "rank 1" if re.search(r"rank +: 1 |rank 1 failed first", r.err) else r.err[-300:]
    return r.status, "named" if "RuntimeError: boom" in r.err else "not named", first


@check(32, "under a launcher that wants the error", (1, "RuntimeError: boom", 1))
def _(t, d):
    path = os.path.join(d, "outer.json")
    status = t.run("--nproc-per-node=2", t.worker, "error", env={"TORCHELASTIC_ERROR_FILE": path}).status
    message = json.loads(read(path))["message"] if os.path.exists(path) else {}
    return status, message.get("message"), message.get("errorCode")


@check(33, "always fails, --max-restarts=2", (7, "up.0.0 up.0.1 up.0.2"), OWN_STATUS)
def _(t, d):
    return t.run("--max-restarts=2", t.worker, "exit", d, "0", "7").status, files(d)


@check(38, "--shutdown-timeout: option, variable, 0, negative", (5, 5, 5, "refused, 2"),
       OWN_STATUS + "; " + STATUS_2 + "; unset it is 25 s, not 30")
def _(t, d):
    found = []
    for i, (args, env) in enumerate(((["--shutdown-timeout=1"], {}), ([], {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "1"}),
                                     (["--shutdown-timeout=0"], {}))):
        found.append(t.run("--nproc-per-node=2", *args, t.worker, "deaf", t.folder(f"deaf{i}"), env=env).status)
    return *found, t.run("--shutdown-timeout=-1", t.worker, "touch", d).refused()


@check(39, "--exit-barrier-timeout", (0, "refused, 2"), "an option of a later torchrun, checked; nobody waits here")
def _(t, d):
    return (t.run("--exit-barrier-timeout=10", t.worker, "touch", d).status,
            t.run("--exit-barrier-timeout=-1", t.worker, "touch", d).refused())


@check(40, "an unknown name in --signals-to-handle", "refused, 2", "a typo must not weaken a stop")
def _(t, d):
    return t.run("--signals-to-handle=SIGTERM,SIGTREM", t.worker, "touch", d).refused()


@check(41, "the agent is not the main thread", "does not arise", needs="a launcher with threads")
def _(t, d):
    return "does not arise"


@check(42, "static endpoint without port, blank", ("refused, 2", "refused, 2"), STATUS_2)
def _(t, d):
    return (t.run("--rdzv-backend=static", "--rdzv-endpoint=localhost", t.worker, "touch", d).refused(),
            t.run("--rdzv-backend=static", "--rdzv-endpoint= ", t.worker, "touch", d).refused())


@check(43, "static, second round: the same rank and world", (0, "same"))
def _(t, d):
    r = t.run("--nproc-per-node=2", "--max-restarts=1", f"--master-port={free_port()}", t.worker, "env", d, "fail")
    seen = environments(d)
    same = all(seen[k, 1].items() >= {n: seen[k, 0][n] for n in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}.items()
               for k in (0, 1) if (k, 0) in seen and (k, 1) in seen)
    return r.status, "same" if same and (0, 1) in seen and (1, 1) in seen else str(seen)


@check(44, "endpoints: localhost:0, with blanks, port 99999", (0, 0, "refused, 2"), STATUS_2)
def _(t, d):
    args = ["--rdzv-backend=c10d", "--nnodes=1"]
    return (t.run(*args, "--rdzv-endpoint=localhost:0", t.worker, "touch", d).status,
            t.run(*args, "--rdzv-endpoint= localhost:0 ", t.worker, "touch", d).status,
            t.run(*args, "--rdzv-endpoint=localhost:99999", t.worker, "touch", d).refused())


@check(45, "two writers of half lines under --tee", (0, "all lines, whole"), "no prefix within a line")
def _(t, d):
    r = t.run("--nproc-per-node=2", "--tee=3", t.worker, "halves", "2000")
    wanted = sorted(f"[default{k}]:half {i} of {k} end" for k in (0, 1) for i in range(2000))
    got = sorted(r.out.splitlines())
    return r.status, "all lines, whole" if got == wanted else f"{len(set(got) - set(wanted))} lines are cut"


# ---- several launchers ---------------------------------------------------------------------------------------------------
def c10d(port, nnodes, *more):
    return [f"--nnodes={nnodes}", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=X", *more]


def static(port, nnodes, rank, *more):
    return [f"--nnodes={nnodes}", f"--node-rank={rank}", "--master-addr=127.0.0.1", f"--master-port={port}", *more]


@check(11, "c10d, --nnodes=1:2, one launcher", (0, "0"))
def _(t, d):
    return t.run(*c10d(free_port(), "1:2", "--rdzv-conf=last_call_timeout=1"), t.worker, "touch", d).status, files(d)


@check(16, "c10d, two launchers, 4 workers each", (0, 0, "0 1 2 3 4 5 6 7"))
def _(t, d):
    port = free_port()
    both = [t.start([*c10d(port, "2:2", "--nproc-per-node=4"), t.worker, "touch", d]) for _ in range(2)]
    return *(t.end(p).status for p in both), files(d)


@check(34, "local sizes 3, 1, 2 with a role", (0, 0, 0, "012345", "contiguous"))
def _(t, d):
    port = free_port()
    sizes = (3, 1, 2)
    all_ = [t.start([*static(port, 3, i, f"--nproc-per-node={n}", "--role=r"), t.worker, "env", d]) for i, n in enumerate(sizes)]
    status = [t.end(p).status for p in all_]
    seen = sorted(environments(d).items())
    groups = [int(e["GROUP_RANK"]) for _, e in seen]
    right = groups == sorted(groups) and all(e["ROLE_RANK"] == e["RANK"] and e["ROLE_NAME"] == "r" for _, e in seen)
    return *status, "".join(str(k[0]) for k, _ in seen), "contiguous" if right else str(groups)


def two_slow(t, d, nnodes, *more):
    """Two launchers whose workers wait for the file `go`; returns them once all workers are up."""
    port, go = free_port(), os.path.join(t.dir, "go")
    args = [*c10d(port, nnodes, "--max-restarts=2", *more), t.worker, "slow", d, go]
    both = [t.start(args)]
    eventually(lambda: listens(port))  # so that the second one, which is killed, is not the host of the rendezvous
    both.append(t.start(args))
    eventually(lambda: len(os.listdir(d)) >= 2)
    return both, args, go


@check(35, "two nodes, one launcher killed and started again", (0, 0), "torchrun manages it with etcd alone")
def _(t, d):
    both, args, go = two_slow(t, d, "2")
    both[1].kill()
    t.end(both[1])
    again = t.start(args)
    eventually(lambda: any(name.endswith(".1") for name in os.listdir(d)) or both[0].poll() is not None)
    with open(go, "w"):
        pass
    return t.end(both[0]).status, t.end(again).status


@check(36, "--nnodes 1:2, one launcher killed", 0, "torchrun's survivor ends with 1, or waits at its exit barrier")
def _(t, d):
    both, _, go = two_slow(t, d, "1:2", "--rdzv-conf=last_call_timeout=5")
    both[1].kill()
    t.end(both[1])
    eventually(lambda: any(name.endswith(".1") for name in os.listdir(d)) or both[0].poll() is not None)
    with open(go, "w"):
        pass
    return t.end(both[0]).status


@check(37, "two nodes, one fails, no restart", (7, 7), "the same status on all nodes")
def _(t, d):
    port = free_port()
    both = [t.start([*static(port, 2, i), t.worker, "exit", d, "0", "7"]) for i in range(2)]
    return tuple(t.end(p).status for p in both)


# ---- running them --------------------------------------------------------------------------------------------------------
def has_torch(python):
    return subprocess.run([python, "-c", "import torch.distributed"], stderr=subprocess.DEVNULL).returncode == 0


def answer(t, f):
    """The check's answer, or what went wrong with it."""
    t.begin()
    t.worker = os.path.join(t.root, "worker.py")
    try:
        return f(t, t.folder("d"))
    except Exception as e:  # a missing file, a key: the behaviour is not there
        return f"{type(e).__name__}: {e}"
    finally:
        t.sweep()


def missing(needs, have, launcher):
    for need in needs:
        is_theirs = need.startswith("torchrun: ")
        if not (is_theirs and launcher.is_muster) and not (need == "fake GPUs" and not launcher.is_muster) and need not in have:
            return need.removeprefix("torchrun: ")
    return ""


def judge(theirs, ours, expect, why):
    if ours != expect:
        return "worse"
    if theirs is None or theirs == ours:
        return "equal" if theirs is not None else "right"
    return f"better ({why})" if why else "worse"


def text(value):
    if value is None:
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def available(opt, muster):
    have = set()
    if opt.python and has_torch(opt.python):
        have.add("torch")
    if os.path.exists(muster.four_gpus.rsplit(":", 1)[0]):
        have.add("fake GPUs")
    return have


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--muster", required=True)
    parser.add_argument("--torchrun")
    parser.add_argument("--python")
    parser.add_argument("--only", default="")
    opt = parser.parse_args()
    if opt.torchrun and not opt.python:
        opt.python = os.path.join(os.path.dirname(opt.torchrun), "python")
    only = {int(n) for n in opt.only.split(",") if n}
    root = tempfile.mkdtemp(prefix="behaviours-")
    link = os.path.join(root, "torchrun")
    os.symlink(os.path.abspath(opt.muster), link)
    with open(os.path.join(root, "worker.py"), "w") as f:
        f.write(WORKER)
    python = opt.python or sys.executable
    muster = Launcher("muster", link, python, root)
    torchrun = Launcher("torchrun", opt.torchrun, python, root) if opt.torchrun else None
    vectors = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vectors", "devices", "inventories.json")
    for t in filter(None, (muster, torchrun)):
        t.four_gpus = f"{os.path.abspath(vectors)}:N4"
    have, counts = available(opt, muster), {}
    for number, what, expect, why, needs, f in sorted(CHECKS, key=lambda c: c[0]):
        if only and number not in only:
            continue
        need = missing(needs, have, muster)
        theirs = None if need or not torchrun or missing(needs, have, torchrun) else answer(torchrun, f)
        ours = None if need else answer(muster, f)
        verdict = f"not run (needs {need})" if need else judge(theirs, ours, expect, why)
        word = verdict.split(" (")[0]
        counts[word] = counts.get(word, 0) + 1
        print(f"{number:3}  {what:52}  {text(theirs):44}  {text(ours):44}  {verdict}", flush=True)
        if word == "worse":
            print(f"       expected {text(expect)}")
    print(", ".join(f"{n} {word}" for word, n in sorted(counts.items())))
    shutil.rmtree(root, ignore_errors=True)
    return 1 if counts.get("worse") else 0


if __name__ == "__main__":
    sys.exit(main())
