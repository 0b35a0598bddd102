"""Fully sharded data parallel: each rank holds a part of every weight. Written for torchrun, started by muster
unchanged. NCCL where there are GPUs, gloo elsewhere. PyTorch 2.6 and later (fully_shard)."""
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

STEPS = 50


def main():
    gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if gpu else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(device.type, (world,))

    torch.manual_seed(0)  # the same start on every rank
    layers = [torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)]
    model = torch.nn.Sequential(*layers).to(device)
    whole = sum(p.numel() for p in model.parameters())
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    part = sum(p.to_local().numel() for p in model.parameters())
    if world > 1 and part >= whole:
        sys.exit(f"rank {rank}: holds {part} of {whole} weights: nothing was sharded")

    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    data = torch.Generator().manual_seed(1000 + rank)  # other data on every rank
    for step in range(1, STEPS + 1):
        x = torch.randn(64, 8, generator=data).to(device)
        loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True).tanh())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (1, STEPS):
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step} loss {mean.item() / world:.9f}", flush=True)
    dist.barrier()
    print(f"rank {rank} of {world}: {part} of {whole} weights", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
