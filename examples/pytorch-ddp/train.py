"""The smallest training script with DistributedDataParallel, as written for torchrun; muster starts it
unchanged. NCCL where there are GPUs, gloo elsewhere. Works with PyTorch 1.13 and 2.x."""
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 50


def main():
    gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if gpu else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    total = torch.tensor([float(rank + 1)], device=device)
    dist.all_reduce(total)
    if total.item() != world * (world + 1) / 2:
        sys.exit(f"rank {rank}: all_reduce gave {total.item()}, not {world * (world + 1) / 2}")

    torch.manual_seed(0)  # the same start on every rank
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)).to(device)
    ddp = DistributedDataParallel(model, device_ids=[device.index] if gpu else None)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    data = torch.Generator().manual_seed(1000 + rank)  # other data on every rank
    for step in range(1, STEPS + 1):
        x = torch.randn(64, 8, generator=data).to(device)
        loss = torch.nn.functional.mse_loss(ddp(x), x.sum(1, keepdim=True).tanh())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (1, STEPS):
            mean = loss.detach().clone()
            dist.all_reduce(mean)  # the loss of the whole batch, not of this rank's part
            if rank == 0:
                print(f"step {step} loss {mean.item() / world:.9f}", flush=True)

    # All ranks hold the same weights, because DDP averaged the gradients.
    mine = model[0].weight.detach().clone()
    theirs = [torch.empty_like(mine) for _ in range(world)]
    dist.all_gather(theirs, mine)
    if any(not torch.equal(mine, other) for other in theirs):
        sys.exit(f"rank {rank}: weights differ between ranks")

    dist.barrier()
    print(f"rank {rank} of {world}: sum {int(total.item())}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
