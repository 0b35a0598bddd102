"""Training that goes on after a failure: a checkpoint every few steps, and a start that looks for one first.

    muster -n 2 --max-restarts 1 train.py --fail-at 25
    torchrun --nproc-per-node 2 --max-restarts 1 train.py --fail-at 25

The last rank fails once, at that step of the first attempt. The second attempt resumes at the last checkpoint and
ends with the loss of a run that nothing has disturbed. PyTorch 1.13 and 2.x, NCCL or gloo."""
import argparse
import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def arguments():
    opt = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    opt.add_argument("--steps", type=int, default=50)
    opt.add_argument("--every", type=int, default=10, help="steps between two checkpoints")
    opt.add_argument("--checkpoint", default="checkpoint.pt")
    opt.add_argument("--fail-at", type=int, default=0, help="step of the first attempt at which the last rank fails")
    opt.add_argument("--late", type=float, default=0.0, help="seconds by which rank 0 starts late after a restart")
    opt.add_argument("--timeout", type=float, default=60.0, help="of joining and of collectives, in seconds")
    return opt.parse_args()


def save(path, step, model, optimizer):
    """Under another name first, so that a failure in the middle leaves the old one whole."""
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path + ".new")
    os.replace(path + ".new", path)


def load(path, device, model, optimizer):
    """The number of steps that are done: 0 without a checkpoint."""
    if not os.path.exists(path):
        return 0
    state = torch.load(path, map_location=device)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]


def main():
    opt = arguments()
    attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
    if attempt > 0 and int(os.environ["RANK"]) == 0:
        time.sleep(opt.late)
    gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if gpu else "gloo", timeout=timedelta(seconds=opt.timeout))
    rank, world = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    done = load(opt.checkpoint, device, model, optimizer)
    dist.barrier()  # nobody writes before all have read
    ddp = DistributedDataParallel(model, device_ids=[device.index] if gpu else None)
    if rank == 0:
        print(f"attempt {attempt}: starting at step {done}", flush=True)
    for step in range(done + 1, opt.steps + 1):
        data = torch.Generator().manual_seed(1000 * step + rank)  # a function of step and rank: the same after a restart
        x = torch.randn(64, 8, generator=data).to(device)
        loss = torch.nn.functional.mse_loss(ddp(x), x.sum(1, keepdim=True).tanh())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (1, opt.steps):
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step} loss {mean.item() / world:.9f}", flush=True)
        if step % opt.every == 0 and rank == 0:
            save(opt.checkpoint, step, model, optimizer)
        if step == opt.fail_at and attempt == 0 and rank == world - 1:
            print(f"rank {rank}: failing at step {step}", file=sys.stderr, flush=True)
            os._exit(3)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
