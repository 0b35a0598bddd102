#!/usr/bin/env python3
"""An example under muster and under the launcher it was written for: do both end with the same loss, to the last digit?

    same_loss.py MUSTER PYTHON NAME [-n WORKERS]

NAME is a row of CASES below. PYTHON is an interpreter that has what the example needs. On CPUs, with one thread a worker, so that
sums are made in the same order. Every run has a deadline. Exit status: 0 the same, 1 not, 77 PYTHON lacks what is needed, 2 usage.
"""
import argparse
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "examples")
DEADLINE_S = 600


class Case:
    """needs: modules; script: within examples/; env: for both sides; ours and theirs: how it is started, other than as usual;
    rest: what else muster's output has to hold."""
    def __init__(self, needs, script, env=None, ours=None, theirs=None, arguments=(), rest=""):
        self.needs, self.script, self.env = needs, os.path.join(EXAMPLES, script), env or {}
        self.ours, self.theirs, self.arguments, self.rest = ours or muster, theirs or torchrun, list(arguments), rest


def muster(opt, case):
    return [opt.muster, "-n", opt.n, case.script, *case.arguments]


def torchrun(opt, case):
    return [opt.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", opt.n, case.script, *case.arguments]


def with_config(opt, case):
    folder = os.path.dirname(case.script)
    return [opt.python, f"{folder}/with_config.py", f"{folder}/config.yaml", *muster(opt, case)]


def accelerate_launch(opt, case):
    return [opt.python, "-m", "accelerate.commands.launch", "--config_file", f"{os.path.dirname(case.script)}/config.yaml",
            "--num_processes", opt.n, case.script]


def disturbed(opt, case):
    return [opt.muster, "-n", opt.n, "--max-restarts", "1", case.script, "--fail-at", "25"]


def mpirun(opt, case):
    return ["mpirun", "--bind-to", "none", "--oversubscribe", "-n", opt.n, opt.python, case.script]


def mpirun_below(opt, case):
    return [opt.muster, "-n", "1", *mpirun(opt, case)]


CASES = {
    "pytorch-ddp": Case(["torch"], "pytorch-ddp/train.py"),
    "pytorch-fsdp": Case(["torch.distributed.fsdp:fully_shard"], "pytorch-fsdp/train.py"),
    "resume": Case(["torch"], "resume/train.py", ours=disturbed, rest="attempt 1: starting at step 20"),
    "lightning": Case(["lightning"], "lightning/train.py"),
    "accelerate": Case(["accelerate"], "accelerate/train.py", {"ACCELERATE_USE_CPU": "true"}),
    "accelerate-config": Case(["accelerate"], "accelerate/train.py", {"ACCELERATE_USE_CPU": "true"}, with_config, accelerate_launch,
                              rest="precision bf16"),
    "hf-trainer": Case(["transformers", "accelerate"], "hf-trainer/train.py"),
    "deepspeed": Case(["deepspeed"], "deepspeed/train.py", {"DS_ACCELERATOR": "cpu"}),
    "jax": Case(["jax", "torch"], "jax/train.py", {"JAX_PLATFORMS": "cpu"}),
    "mpi4py": Case(["mpi4py.MPI"], "mpi4py/train.py", {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
                   mpirun_below, mpirun),
}


def has(python, need):
    module, _, name = need.partition(":")
    code = f"from {module} import {name}" if name else f"import {module}"
    return subprocess.run([python, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def end_with_us():
    """In the child: SIGTERM when this script is gone, as when ctest ends it."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def run(command, env, folder):
    """Status and output; a launcher past the deadline is told to end, and ends its workers."""
    os.mkdir(folder)
    p = subprocess.Popen(command, env=env, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         preexec_fn=end_with_us)
    try:
        out, _ = p.communicate(timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        p.terminate()
        try:
            out, _ = p.communicate(timeout=40)
        except subprocess.TimeoutExpired:
            p.kill()
            out, _ = p.communicate()
    return p.returncode, out


def losses(out):
    """{step: loss}, as text. Lines of two ranks may meet in one under a launcher that does not keep them apart."""
    return dict(re.findall(r"step (\d+) loss ([-+\d]+\.\d{9})", out))


def main():
    opt = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    opt.add_argument("muster")
    opt.add_argument("python")
    opt.add_argument("name", choices=CASES)
    opt.add_argument("-n", default="2")
    opt = opt.parse_args()
    case = CASES[opt.name]
    missing = [need for need in case.needs if not has(opt.python, need)]
    if missing:
        print(f"skipped: {opt.python} has no {', '.join(missing)}")
        return 77
    env = {**os.environ, **case.env, "PYTHON": opt.python, "OMP_NUM_THREADS": "1"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # large packages: compile them once
    got = {}
    with tempfile.TemporaryDirectory() as folder:
        for side, command in (("muster", case.ours(opt, case)), ("theirs", case.theirs(opt, case))):
            status, out = run(command, env, os.path.join(folder, side))
            got[side] = losses(out)
            if status != 0 or "50" not in got[side] or side == "muster" and case.rest not in out:
                print(f"{' '.join(command)}\nstatus {status}, losses {got[side]}; wanted: 0, one at step 50, '{case.rest}'\n{out[-6000:]}")
                return 1
    same = got["muster"]["50"] == got["theirs"]["50"]
    print(f"{opt.name}: loss at step 50 {got['muster']['50']}; the other launcher {got['theirs']['50']}; {'the same' if same else 'DIFFERENT'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
