"""A plain script with `Accelerator()`: what `accelerate launch` is started for, here started by muster. Without GPUs it
needs ACCELERATE_USE_CPU=true in its environment, or every process trains alone and says nothing: it checks that."""
import os
import sys

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

STEPS = 50


def main():
    accelerator = Accelerator()
    world = accelerator.num_processes
    if world != int(os.environ.get("WORLD_SIZE", 1)):
        sys.exit(f"Accelerate made {world} of {os.environ['WORLD_SIZE']} processes: without GPUs set ACCELERATE_USE_CPU=true")
    set_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    x = torch.randn(64 * world * STEPS, 8)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True).tanh()), batch_size=64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, (x, y) in enumerate(loader, 1):
        loss = torch.nn.functional.mse_loss(model(x).float(), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        if step in (1, STEPS):
            mean = accelerator.gather(loss.detach()).mean()
            if accelerator.is_main_process:
                print(f"step {step} loss {mean.item():.9f}", flush=True)
    print(f"rank {accelerator.process_index} of {world}: precision {accelerator.mixed_precision}", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
