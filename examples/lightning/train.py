"""Lightning's Trainer with strategy="ddp". TORCHELASTIC_RUN_ID tells it that a launcher is in charge, so it starts
no processes of its own; the numbers of devices and nodes are the launcher's. Lightning 2.x."""
import os

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

STEPS = 50


class Waves(Dataset):
    def __len__(self):
        return 64 * 8 * STEPS

    def __getitem__(self, i):
        x = torch.randn(8, generator=torch.Generator().manual_seed(i))
        return x, x.sum(0, keepdim=True).tanh()


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        if index + 1 in (1, STEPS):
            mean = self.all_gather(loss.detach()).mean()
            if self.global_rank == 0:
                print(f"step {index + 1} loss {mean.item():.9f}", flush=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    L.seed_everything(0, verbose=False)
    trainer = L.Trainer(strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
                        num_nodes=int(os.environ["GROUP_WORLD_SIZE"]), max_steps=STEPS, logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Model(), DataLoader(Waves(), batch_size=64))
    print(f"rank {trainer.global_rank} of {trainer.world_size}: done", flush=True)


if __name__ == "__main__":
    main()
