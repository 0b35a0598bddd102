"""DeepSpeed with ZeRO stage 1: the states of the optimizer are spread over the ranks. `deepspeed.init_distributed`
takes the environment that a launcher gives, so neither the `deepspeed` command nor its hostfile is needed. It runs
on NCCL with GPUs and on gloo without (DS_ACCELERATOR=cpu)."""
import os
import sys

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("DS_ACCELERATOR", "cpu")
import deepspeed  # noqa: E402 (the accelerator is chosen by the import)

STEPS = 50
CONFIG = {"train_micro_batch_size_per_gpu": 64, "zero_optimization": {"stage": 1}, "zero_allow_untested_optimizer": True}


def main():
    gpu = torch.cuda.is_available()
    deepspeed.init_distributed("nccl" if gpu else "gloo", verbose=False)
    rank, world = deepspeed.comm.get_rank(), deepspeed.comm.get_world_size()
    if world != int(os.environ["WORLD_SIZE"]):
        sys.exit(f"rank {rank}: DeepSpeed made a group of {world}, not of {os.environ['WORLD_SIZE']}")

    torch.manual_seed(0)  # the same start on every rank
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    engine = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters(), lr=0.01), config=CONFIG)[0]
    data = torch.Generator().manual_seed(1000 + rank)  # other data on every rank
    for step in range(1, STEPS + 1):
        x = torch.randn(64, 8, generator=data).to(engine.device)
        loss = torch.nn.functional.mse_loss(engine(x), x.sum(1, keepdim=True).tanh())
        engine.backward(loss)
        engine.step()
        if step in (1, STEPS):
            mean = loss.detach().clone()
            deepspeed.comm.all_reduce(mean)
            if rank == 0:
                print(f"step {step} loss {mean.item() / world:.9f}", flush=True)
    deepspeed.comm.barrier()
    print(f"rank {rank} of {world}: ZeRO stage {engine.zero_optimization_stage()}", flush=True)
    deepspeed.comm.destroy_process_group()


if __name__ == "__main__":
    main()
