#!/usr/bin/env python3
"""Jobs with random faults: chaos.py MUSTER [--jobs N] [--seed S] [--only FAULT].

Each job gets workers with helpers of every kind and one fault at a random moment. Afterwards: no process
of the job is left, the end came within the bound, and where muster lived its verdict names the fault.
The plan depends on the seed and the job's number alone; which moment it meets, on the machine."""
import argparse
import collections
import fcntl
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time

WORKER = pathlib.Path(__file__).with_name("worker.sh")
BOUND_S = 40  # of any wait; none is expected to come near


class Broken(Exception):
    """What must hold does not."""


def eventually(what, condition):
    end = time.monotonic() + BOUND_S
    while not condition():
        if time.monotonic() > end:
            raise Broken(f"not within {BOUND_S} s: {what}")
        time.sleep(0.01)


def read(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


class Job:
    """One muster in a folder of its own; found by a tag in the environment or by the path of its nap."""

    def __init__(self, muster, rng, folder):
        self.muster, self.rng, self.folder = muster, rng, folder
        self.n = rng.randint(1, 4)
        self.tag = f"CHAOS_TAG={folder.name}"
        self.nap = folder / "nap"
        shutil.copy(shutil.which("sleep"), self.nap)
        self.process = self.terminal = None

    def start(self, *work, options=(), **streams):
        env = dict(os.environ, CHAOS_TAG=self.folder.name, NAP=str(self.nap))
        streams.setdefault("stdin", subprocess.DEVNULL)
        streams.setdefault("stdout", open(self.folder / "out", "wb"))
        streams.setdefault("stderr", open(self.folder / "err", "wb"))
        self.process = subprocess.Popen(
            [self.muster, "-n", str(self.n), "--grace", "3", *options, str(WORKER), *map(str, work)], cwd=self.folder,
            env=env, **streams)
        if streams["stdout"] is not subprocess.PIPE:
            if hasattr(streams["stdout"], "close"):
                streams["stdout"].close()

    def start_on_terminal(self):
        """Rank 0 owns it, and each of its helpers is a job of a shell, in a process group of its own."""
        self.terminal, slave = os.openpty()
        self.start("wait", options=["--terminal", "0", "--wrap", "bash -m", "--wrap-ranks", "0"], stdin=slave,
                   stdout=slave, stderr=slave, start_new_session=True,
                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)

    def wait_up(self):
        eventually("all workers are up", lambda: all(self.said_up(r).endswith(b"\n") for r in range(self.n)))

    def said_up(self, rank):
        return read(self.folder / f"up.{rank}")

    def go(self):
        (self.folder / "go").touch()

    def alive(self):
        """Process ids of the job but muster's own. Zombies have neither an environment nor a program."""
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == self.process.pid:
                continue
            try:
                program = os.readlink(f"/proc/{entry}/exe")
            except OSError:
                continue
            if program == str(self.nap) or self.tag.encode() in read(f"/proc/{entry}/environ").split(b"\0"):
                found.append(int(entry))
        return found

    def children(self):
        lists = pathlib.Path(f"/proc/{self.process.pid}").glob("task/*/children")  # each thread has its own
        return [int(p) for path in lists for p in read(path).split()]

    def worker(self, rank):
        """As it said itself: a helper of it looks the same until it has its own program."""
        return int(self.said_up(rank))

    def guard(self):
        for pid in self.children():
            if read(f"/proc/{pid}/comm") == b"job-guard\n":
                return pid
        raise Broken("there is no guard")

    def kill(self, pid, signo=signal.SIGKILL):
        try:
            os.kill(pid, signo)
        except ProcessLookupError:
            pass

    def end(self, status, *words):
        try:
            got = self.process.wait(BOUND_S)
        except subprocess.TimeoutExpired:
            raise Broken(f"muster has not ended within {BOUND_S} s") from None
        if got != status:
            raise Broken(f"status {got}, expected {status}")
        said = read(self.folder / "err").decode(errors="replace")
        for word in words:
            if word not in said:
                raise Broken(f"the verdict does not say: {word}")

    def clean(self):
        eventually("no process is left", lambda: not self.alive())

    def abandon(self):
        self.process.kill()  # unless it has been collected
        for pid in self.alive():
            self.kill(pid)
        self.process.wait()
        if self.terminal is not None:
            os.close(self.terminal)


def pause(job, most_s):
    time.sleep(job.rng.uniform(0, most_s))  # the random moment; nothing depends on it


# ---- faults: each returns nothing or raises Broken ----

def nothing(job):
    job.start("wait")
    job.go()
    job.end(0)


def muster_killed_early(job):
    job.start("wait")
    pause(job, 0.05)
    job.process.kill()
    job.end(-9)


def muster_killed(job):
    job.start("wait")
    job.wait_up()
    pause(job, 0.05)
    job.process.kill()
    job.end(-9)


def muster_killed_stopping(job):
    job.start("wait")
    job.wait_up()
    job.kill(job.worker(job.rng.randrange(job.n)), signal.SIGSTOP)
    job.process.terminate()
    pause(job, 0.2)
    job.process.kill()
    if job.process.wait(BOUND_S) not in (-9, 143, -15):
        raise Broken(f"status {job.process.returncode}")


def muster_killed_draining(job):
    job.start("wait")
    job.go()
    job.wait_up()
    pause(job, 0.7)
    job.process.kill()
    if job.process.wait(BOUND_S) not in (-9, 0):
        raise Broken(f"status {job.process.returncode}")


def muster_stopped_and_killed(job):
    job.start("wait")
    job.wait_up()
    for pid in job.rng.sample([job.guard(), job.process.pid, job.worker(0)], 3):
        job.kill(pid, signal.SIGSTOP)
    job.process.kill()
    job.end(-9)


def muster_killed_on_terminal(job):
    job.start_on_terminal()
    job.wait_up()
    pause(job, 0.05)
    job.process.kill()
    job.end(-9)


def terminal_left(job):
    job.start_on_terminal()
    job.go()
    job.end(0)


def worker_killed(job):
    job.start("wait")
    job.wait_up()
    rank = job.rng.randrange(job.n)
    job.kill(job.worker(rank))
    job.end(137, f"rank {rank} failed first: signal 9")


def worker_fails(job):
    rank, code = job.rng.randrange(job.n), job.rng.choice([1, 2, 7, 42, 93, 255])
    job.start("fail", rank, code)
    job.wait_up()
    job.go()
    job.end(code, f"rank {rank} failed first: exit")


def worker_stopped(job):
    job.start("wait")
    job.wait_up()
    job.kill(job.worker(job.rng.randrange(job.n)), signal.SIGSTOP)
    job.process.terminate()
    job.end(143)


def anyone_killed(job):
    """One random process: the verdict depends on whose it was."""
    job.start("wait")
    job.wait_up()
    workers = {job.worker(r): r for r in range(job.n)}
    victim = job.rng.choice(sorted([job.process.pid, *job.alive()]))
    job.kill(victim)
    if victim == job.process.pid:
        return job.end(-9)
    if victim in workers:
        return job.end(137, f"rank {workers[victim]} failed first: signal 9")
    job.go()
    return job.end(0)


def guard_killed(job):
    job.start("wait")
    job.wait_up()
    job.kill(job.guard())
    pause(job, 0.02)
    job.go()
    job.end(0)


def interrupted(job):
    job.start("wait")
    job.wait_up()
    signo = job.rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    job.process.send_signal(signo)
    job.end(128 + signo)


def reader_gone(job):
    job.start("write", 5000, stdout=subprocess.PIPE)
    job.process.stdout.read(job.rng.randint(1, 20000))
    job.process.stdout.close()
    job.end(141)


def reader_slow(job):
    lines = 1500
    job.start("write", lines, stdout=subprocess.PIPE)
    got = b""
    while True:
        piece = os.read(job.process.stdout.fileno(), job.rng.randint(1, 30000))
        if not piece:
            break
        got += piece
        time.sleep(0.002)
    job.end(0)
    job.process.stdout.close()
    counts = collections.Counter(line.split(b":")[0] for line in got.split(b"\n")[:-1])
    if sorted(counts.values()) != [lines] * job.n or len({len(line) for line in got.split(b"\n")[:-1]}) != 1:
        raise Broken(f"lines were lost or torn: {dict(counts)}")


def disk_full(job):
    """The workers' logs do not fit: their output still comes, and the job ends as its workers do."""
    disk = job.folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], stderr=subprocess.DEVNULL).returncode:
        return nothing(job)  # not allowed to
    try:
        job.start("write", 1500, options=["--log-dir", str(disk)])
        job.end(0)
        if read(job.folder / "out").count(b"\n") != 1500 * job.n:
            raise Broken("lines were lost")
    finally:
        if job.process.poll() is None:
            job.abandon()
        subprocess.run(["umount", "-l", disk], check=True)
    return None


FAULTS = [nothing, muster_killed_early, muster_killed, muster_killed_stopping, muster_killed_draining,
          muster_stopped_and_killed, muster_killed_on_terminal, terminal_left, worker_killed, worker_fails,
          worker_stopped, anyone_killed, guard_killed, interrupted, reader_gone, reader_slow, disk_full]


def run_one(muster, seed, number, fault):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="chaos-"))
    job = Job(muster, random.Random(f"{seed}/{number}"), folder)
    try:
        fault(job)
        job.clean()
        return None
    except Broken as why:
        return f"{why}\n--- stderr\n{read(folder / 'err').decode(errors='replace')}"
    finally:
        job.abandon()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("muster", type=os.path.abspath)
    parser.add_argument("--jobs", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=[f.__name__ for f in FAULTS])
    args = parser.parse_args()
    order = random.Random(args.seed)
    plan = []
    while len(plan) < args.jobs:  # each fault once, then again, in another order
        plan += order.sample(FAULTS, len(FAULTS))
    counts, nbroken, longest = collections.Counter(), 0, 0.0
    for number, fault in enumerate(plan[:args.jobs]):
        if args.only and fault.__name__ != args.only:
            continue
        begun = time.monotonic()
        why = run_one(args.muster, args.seed, number, fault)
        longest = max(longest, time.monotonic() - begun)
        counts[fault.__name__] += 1
        if why:
            nbroken += 1
            print(f"job {number} (seed {args.seed}), {fault.__name__}: {why}", flush=True)
    for name, count in sorted(counts.items()):
        print(f"{count:5} {name}")
    print(f"{sum(counts.values())} jobs, {nbroken} broken, the longest took {longest:.1f} s")
    return 1 if nbroken else 0


if __name__ == "__main__":
    sys.exit(main())
