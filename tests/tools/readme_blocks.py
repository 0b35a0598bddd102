#!/usr/bin/env python3
"""Does what a page tells its reader to do, from top to bottom in one folder, and compares what is printed.

    readme_blocks.py [--update] [--empty] BIN PAGE...    BIN is the folder of the programs

    ```console           each "$ command", its output compared; "$ echo $?" is the status of the command before
    ```sh test           each line must succeed and print something
    ```python train.py   becomes that file; likewise with any language and name

After `console` and `sh test` may stand what the block needs: "four GPUs" (from a file), "Slurm" (the variables of an
allocation), "PyTorch" (an interpreter that has it: PYTHON, python3 or /usr/bin/python3; where none has, the block is
left out, and a line says so).

Compared is all but what differs from run to run: numbers with a point, process ids, the host's name, the port of an
address, why there is no NCCL. Lines that say that somebody is being waited for come on a busy machine only and are not compared. The folder
begins with a train.py and a package my.package, with --empty with nothing; several pages share it. --update writes
what was printed into the pages.
"""
import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NEEDS = {
    "four GPUs": {"MUSTER_FAKE_GPUS": os.path.join(ROOT, "tests/vectors/devices/inventories.json") + ":N4"},
    "Slurm": {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": socket.gethostname() + ",node2", "SLURM_JOB_NUM_NODES": "2"},
    "PyTorch": {},
}
BLOCK = re.compile(r"^```(?P<kind>console|sh test)(?: (?P<need>%s))?\n(?P<text>.*?)^```$"
                   r"|^```\w+ (?P<file>[\w.]+\.\w+)\n(?P<content>.*?)^```$" % "|".join(NEEDS), re.M | re.S)
WAITING = re.compile(r"^\S+: (warning: )?waiting (since|for) \d+ .*\n", re.M)
PAGES_HOST = "vm"  # the host that the pages show; --update keeps it
DEADLINE = 250  # seconds a command
STAND_IN = "import os\nprint(os.environ['RANK'], os.environ['WORLD_SIZE'])\n"


def shape(text):
    text = re.sub(r"\b(%s|%s)\b" % (re.escape(socket.gethostname()), PAGES_HOST), "HOST", WAITING.sub("", text))
    text = re.sub(r"(\(host |rank +\d+  |^[EW] [\w.]+  )[\w.-]+(,|  pid|:)", r"\1HOST\2", text, flags=re.M)
    text = re.sub(r"-?\d+\.\d+(e[+-]?\d+)?|(?<=pid )\d+", "0", text)
    text = re.sub(r"\(no NCCL: [^)]*\)", "(no NCCL)", text)
    text = re.sub(r"(http://[\w.]+:)\d+/", r"\1PORT/", text)
    text = re.sub(r'(,host=)"[^"]*"', r'\1"HOST"', text)
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if line.strip()]


def environment(bin_dir, python, need):
    drop = ("MUSTER_", "PET_", "SLURM_", "NCCL_", "CUDA_VISIBLE_DEVICES")
    env = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
    env["PATH"] = os.path.abspath(bin_dir) + ":" + env["PATH"]
    if need == "PyTorch":
        env["PYTHON"] = python
    env.update(NEEDS.get(need, {}))
    return env


def python_with_torch():
    for python in filter(None, (os.environ.get("PYTHON"), "python3", "/usr/bin/python3")):
        if shutil.which(python) and subprocess.run([python, "-c", "import torch.distributed"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


class Reader:
    """Goes through pages in one folder."""

    def __init__(self, bin_dir, folder, update):
        self.bin_dir, self.folder, self.update = bin_dir, folder, update
        self.python = None  # looked for when a block needs PyTorch
        self.seen = self.bad = 0

    def page(self, name):
        text = open(name).read()
        for match in BLOCK.finditer(text):
            need = match["need"]
            if match["file"]:
                with open(os.path.join(self.folder, match["file"]), "w") as f:
                    f.write(match["content"])
                continue
            self.seen += 1
            if need == "PyTorch" and not self.torch():
                print(f"{name}: left out, since no PyTorch is here:\n{match['text']}")
            elif match["kind"] == "console":
                text = self.console(name, text, match["text"], need)
            else:
                self.lines(name, match["text"], need)
        if self.update:
            with open(name, "w") as f:
                f.write(text)

    def torch(self):
        self.python = self.python or python_with_torch()
        return self.python

    def run(self, command, need):
        return subprocess.run(["bash", "-c", command], cwd=self.folder, text=True, timeout=DEADLINE,
                              env=environment(self.bin_dir, self.python, need), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def console(self, name, page, block, need):
        """Runs one block; returns the page with what it printed."""
        printed, parts = "", re.split(r"^\$ (.*)\n", block, flags=re.M)[1:]
        status = None
        for command, expected in zip(parts[::2], parts[1::2]):
            if command == "echo $?":
                actual = f"{status}\n"
            else:
                done = self.run(command, need)
                actual, status = WAITING.sub("", done.stdout), done.returncode
                actual = re.sub(r"\b%s\b" % re.escape(socket.gethostname()), PAGES_HOST, actual)
            printed += f"$ {command}\n{actual}"
            if not self.update and shape(expected) != shape(actual):
                self.bad += 1
                print(f"{name}: $ {command}\n--- the page says\n{expected}--- it printed\n{actual}")
        return page.replace(block, printed, 1)

    def lines(self, name, block, need):
        for line in filter(None, (x.split("   #")[0].strip() for x in block.splitlines())):
            done = self.run(line, need)
            if done.returncode != 0 or not done.stdout.strip():
                self.bad += 1
                print(f"{name}: '{line}' ended with {done.returncode}: {done.stdout}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--empty", action="store_true")
    parser.add_argument("bin")
    parser.add_argument("pages", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if not args.empty:
            os.makedirs(folder + "/my/package")
            for name in ("train.py", "my/package/__main__.py"):
                with open(os.path.join(folder, name), "w") as f:
                    f.write(STAND_IN)
        reader = Reader(args.bin, folder, args.update)
        for page in args.pages:
            before = reader.seen
            reader.page(page)
            if reader.seen == before:
                sys.exit(f"{page} has no block that can be run")
    sys.exit(1 if reader.bad else 0)


if __name__ == "__main__":
    main()
