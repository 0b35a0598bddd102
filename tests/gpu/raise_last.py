"""A worker whose last rank raises an exception in the middle of training; the others are in a collective by then."""
import os

import torch
import torch.distributed as dist


def train_step(step, device):
    x = torch.ones(1024, device=device)
    if step == 3 and dist.get_rank() == dist.get_world_size() - 1:
        raise ValueError(f"forced exception in rank {dist.get_rank()} at step {step}")
    dist.all_reduce(x)
    return x.sum().item()


def main():
    gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if gpu else "gloo")
    for step in range(1, 6):
        train_step(step, device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
