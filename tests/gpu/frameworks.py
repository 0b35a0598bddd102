"""What frameworks.sh runs: the same scripts under muster and under torchrun, one Markdown table and the raw logs in $OUT.

Order of work, until LIMIT_S is used up; what there was no time for is said:
 1. each framework of examples/ once under each launcher: 50 steps, the loss at the end to the last digit;
 2. an exception in the last rank: both final screens, as they are;
 3. examples/resume RESTARTS times under each: the last rank exits once, rank 0 is 3 s late in half of them, the second attempt resumes
    from the checkpoint. Passed: status 0 and the loss of a run that nothing disturbed;
 4. an MPI program of nccl-tests below muster, where one was named;
 5. more rounds of 1, in the order A B B A, for the time from launch to the line of the first step: medians. Then hf-trainer and jax.
Every run has a deadline of its own and is ended with all of its processes.
"""
import concurrent.futures
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

MUSTER, PYTHON, OUT = os.environ["MUSTER"], os.environ["PYTHON"], os.environ["OUT"]
CPU = os.environ.get("FORCE_CPU") == "1"
WORKERS = os.environ.get("WORKERS", "2")
RUN_S = RESTART_S = float(os.environ.get("RUN_S", 120))
BEGIN = time.monotonic()
LIMIT_S = float(os.environ.get("LIMIT_S", 510))
ROUNDS, RESTARTS = int(os.environ.get("ROUNDS", 3)), int(os.environ.get("RESTARTS", 20))
PARALLEL = int(os.environ.get("PARALLEL", 5 if (os.cpu_count() or 1) >= 16 else 1))
HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "examples")
FRAMEWORKS = {"pytorch-ddp": "torch", "pytorch-fsdp": "torch", "lightning": "lightning", "accelerate": "accelerate",
              "deepspeed": "deepspeed", "hf-trainer": "transformers", "jax": "jax"}
MORE = ("hf-trainer", "jax")  # last, if time is left
LAUNCHERS = ("muster", "torchrun")
LOCK = threading.Lock()
ALIVE = set()  # launchers that run now


class Run:
    """One finished run: status (None past its deadline), wall_s, lines as (seconds after the launch, text)."""
    def __init__(self, status, wall_s, lines):
        self.status, self.wall_s, self.lines = status, wall_s, lines
        self.text = "".join(line for _, line in lines)

    def loss(self, step=50):
        found = re.findall(rf"step {step} loss ([-+.\de]+)", self.text)
        return found[-1] if found else None

    def first_step_s(self):
        return next((at for at, line in self.lines if "step 1 loss" in line), None)


def left_s():
    return LIMIT_S - (time.monotonic() - BEGIN)


def command_of(launcher, script, arguments=(), restarts=0):
    if launcher == "muster":
        return [MUSTER, "-n", WORKERS, "--grace", "5s", "--max-restarts", str(restarts), script, *arguments]
    return [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", WORKERS, "--max-restarts", str(restarts),
            script, *arguments]


def end(p):
    """The launcher gets the chance to end its workers, then nobody does."""
    for number, patience_s in ((signal.SIGTERM, 15), (signal.SIGKILL, 5)):
        try:
            os.killpg(p.pid, number)
            p.wait(patience_s)
            return
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return


def run(command, log, deadline_s, folder):
    env = {**os.environ, "PYTHON": PYTHON, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    begin, lines, late = time.monotonic(), [], []
    text = f"=== {' '.join(command)}\n"
    p = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, errors="replace", start_new_session=True)
    timer = threading.Timer(max(1, min(deadline_s, left_s() + 20)), lambda: (late.append(True), end(p)))
    timer.start()
    ALIVE.add(p)
    for line in p.stdout:
        lines.append((time.monotonic() - begin, line))
    p.wait()
    timer.cancel()
    ALIVE.discard(p)
    done = Run(None if late else p.returncode, time.monotonic() - begin, lines)
    with LOCK, open(os.path.join(OUT, log), "a", encoding="utf-8") as f:
        f.write(f"{text}=== status {done.status}, {done.wall_s:.1f} s\n{done.text[-20000:]}\n")
    return done


def say(text):
    print(f"[{time.monotonic() - BEGIN:5.0f} s] {text}", flush=True)


def has(module):
    return subprocess.run([PYTHON, "-c", f"import {module}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def train(name, launcher, runs):
    with tempfile.TemporaryDirectory() as folder:
        done = run(command_of(launcher, f"{EXAMPLES}/{name}/train.py"), "losses.log", RUN_S, folder)
    runs.setdefault((name, launcher), []).append(done)
    say(f"{name} under {launcher}: status {done.status}, loss {done.loss()}, first step after {done.first_step_s() or 0:.1f} s")


def rounds(first, last, names, runs):
    for number in range(first, last):
        for name in names:
            for launcher in LAUNCHERS if number % 2 == 0 else LAUNCHERS[::-1]:
                if left_s() > 25:
                    train(name, launcher, runs)


def seconds(runs):
    """Median and extremes of the time to the first step."""
    times = [r.first_step_s() for r in runs if r.first_step_s() is not None]
    return (statistics.median(times), f"{statistics.median(times):.2f} [{min(times):.2f}-{max(times):.2f}] n={len(times)}") if times else (0, "-")


def framework_table(names, runs):
    rows = ["| framework | loss at step 50, muster | torchrun | same | s to first step, muster | torchrun | torchrun / muster |", "|---|---|---|---|---|---|---|"]
    for name in names:
        ours, theirs = runs.get((name, "muster"), []), runs.get((name, "torchrun"), [])
        both = [{r.loss() if r.status == 0 else f"failed ({r.status})" for r in side} for side in (ours, theirs)]
        same = "yes" if len(both[0]) == 1 and both[0] == both[1] and None not in both[0] and ours[0].status == 0 else "NO"
        mine, text = seconds(ours)
        other, other_text = seconds(theirs)
        words = [", ".join(sorted(map(str, side))) or "not run" for side in both]
        rows.append(f"| {name} | {words[0]} | {words[1]} | {same} | {text} | {other_text} | {f'{other / mine:.1f}' if mine and other else '-'} |")
    return rows


def failure(launcher):
    with tempfile.TemporaryDirectory() as folder:
        done = run(command_of(launcher, f"{HERE}/raise_last.py"), f"screen-{launcher}.txt", RUN_S, folder)
    own = [line for _, line in done.lines]
    rank = int(WORKERS) - 1
    cause = f"ValueError: forced exception in rank {rank} at step 3"
    last = own[-12:]
    return (f"| {launcher} | {done.status} | {done.wall_s:.1f} | {len(own)} | {'yes' if cause in done.text else 'no'} | "
            f"{'yes' if any(cause in line for line in last) else 'no'} |")


def restart(job):
    """One restart, as (launcher, late, passed, seconds, why not)."""
    launcher, number, wanted = job
    late = 3 if number % 2 else 0
    if left_s() < 60:
        return launcher, late, None, 0.0, "no time left"
    with tempfile.TemporaryDirectory() as folder:
        done = run(command_of(launcher, f"{EXAMPLES}/resume/train.py", ["--fail-at", "25", "--late", str(late), "--timeout", "30"], 1),
                   "restarts.log", RESTART_S, folder)
    why = "" if "attempt 1: starting at step 20" in done.text else "not resumed"
    if done.status != 0:
        why = f"status {done.status}"
    elif done.loss() != wanted:
        why = f"loss {done.loss()}, not {wanted}"
    return launcher, late, not why, done.wall_s, why


def restarts():
    with tempfile.TemporaryDirectory() as folder:
        wanted = run(command_of("muster", f"{EXAMPLES}/resume/train.py"), "restarts.log", RUN_S, folder).loss()
    say(f"restarts: an undisturbed run ends with loss {wanted}")
    jobs = [(launcher, number, wanted) for number in range(RESTARTS) for launcher in LAUNCHERS]
    results = []
    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        for result in pool.map(restart, jobs):
            results.append(result)
            if not result[2]:
                say(f"restart under {result[0]}, rank 0 late by {result[1]} s: {result[4]}")
    rows = [f"| launcher | passed | rank 0 in time | rank 0 late by 3 s | not run | median s (of {PARALLEL} at a time) | failures |", "|---|---|---|---|---|---|---|"]
    for launcher in LAUNCHERS:
        mine = [r for r in results if r[0] == launcher]
        ran = [r for r in mine if r[2] is not None]
        part = [f"{sum(1 for r in ran if r[2] and r[1] == late)} of {sum(1 for r in ran if r[1] == late)}" for late in (0, 3)]
        why = {r[4] for r in ran if r[4]}
        rows.append(f"| {launcher} | {sum(1 for r in ran if r[2])} of {len(ran)} | {part[0]} | {part[1]} | {len(mine) - len(ran)} | "
                    f"{statistics.median([r[3] for r in ran] or [0]):.1f} | {'; '.join(sorted(why)) or '-'} |")
    return rows


def mpi_program():
    """nccl-tests below mpirun, alone and below muster; and by muster itself where it was said how."""
    program = [os.environ["MPI_PROGRAM"], "-b", "8M", "-e", "512M", "-f", "8", "-n", "10"]
    mpirun = ["mpirun", "--bind-to", "none", "-np", WORKERS, "-x", "LD_LIBRARY_PATH", *program]
    ways = {"mpirun": mpirun, "muster, then mpirun": [MUSTER, "-n", "1", "--binding", "none", *mpirun]}
    if os.environ.get("MPI_OPTIONS"):
        ways["muster"] = [MUSTER, "-n", WORKERS, *os.environ["MPI_OPTIONS"].split(), *program]
    rows = ["| how | status | s | average bus bandwidth GB/s | wrong |", "|---|---|---|---|---|"]
    for name, command in ways.items():
        with tempfile.TemporaryDirectory() as folder:
            done = run(command, "mpi.log", 60, folder)
        bandwidth = re.findall(r"Avg bus bandwidth\s*:\s*([\d.]+)", done.text)
        wrong = re.findall(r"Out of bounds values\s*:\s*(\d+ \w+)", done.text)
        rows.append(f"| {name} | {done.status} | {done.wall_s:.1f} | {' '.join(bandwidth) or '-'} | {' '.join(wrong) or '-'} |")
    return rows


def machine():
    code = ("import torch; g = torch.cuda.is_available(); print(torch.__version__, 'NCCL ' + '.'.join(map(str, torch.cuda.nccl.version())) if g else 'gloo',"
            "f'{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}' if g else 'CPU')")
    torch = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=False).stdout.strip()
    muster = subprocess.run([MUSTER, "version"], capture_output=True, text=True, check=False).stdout.splitlines()[:1]
    return f"{' '.join(muster)}; PyTorch {torch}; {os.cpu_count()} cores; {WORKERS} workers; NCCL_NVLS_ENABLE={os.environ.get('NCCL_NVLS_ENABLE', '')}"


def on_term(number, frame):
    """Ended from outside: so are the launchers; what was found so far has been written."""
    for p in list(ALIVE):
        end(p)
    os._exit(128 + number)


def write(*parts):
    text = "\n".join(line for part in parts for line in [*part, ""])
    with open(os.path.join(OUT, "frameworks.md"), "w", encoding="utf-8") as f:
        f.write(text)
    return text


def main():
    signal.signal(signal.SIGTERM, on_term)
    signal.signal(signal.SIGINT, on_term)
    head = ["# Frameworks under muster and torchrun", "", machine()]
    say(head[2])
    names = [name for name, module in FRAMEWORKS.items() if has(module)]
    first, more = [n for n in names if n not in MORE], [n for n in names if n in MORE]
    missing = [name for name in FRAMEWORKS if name not in names]
    if missing:
        head += ["", f"Not run, as it is not installed here: {', '.join(missing)}."]
    runs = {}
    rounds(0, 1, first, runs)
    write(head, framework_table(names, runs))
    screens = ["## An exception in the last rank", "The screens are in screen-muster.txt and screen-torchrun.txt.", "",
               "| launcher | status | s | lines | says the exception | within its last 12 lines |", "|---|---|---|---|---|---|"]
    screens += [failure(launcher) for launcher in LAUNCHERS]
    write(head, framework_table(names, runs), screens)
    say("restarts: begin")
    again = ["## Restart from a checkpoint", *restarts()] if RESTARTS else []
    write(head, framework_table(names, runs), screens, again)
    mpi = ["## MPI", *mpi_program()] if os.environ.get("MPI_PROGRAM") and left_s() > 60 else []
    rounds(1, ROUNDS, first, runs)
    rounds(0, 1, more, runs)
    print(write(head, framework_table(names, runs), screens, again, mpi, [f"{time.monotonic() - BEGIN:.0f} s in all."]))
    print(f"raw logs: {OUT}")
    return 0 if all(r.status == 0 for (_, launcher), rs in runs.items() if launcher == "muster" for r in rs) else 1


if __name__ == "__main__":
    sys.exit(main())
