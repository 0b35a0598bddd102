"""Hugging Face's Trainer on a small GPT-2 made here: nothing is downloaded. The Trainer finds its place by LOCAL_RANK
and goes on with Accelerate; without GPUs use_cpu tells it so. transformers 5.x."""
import os

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, PrinterCallback, Trainer, TrainerCallback, TrainingArguments, set_seed

STEPS = 50


class Counting(Dataset):
    """Sequences that count: the next number is always the last one plus 1."""
    def __len__(self):
        return 16 * 8 * STEPS

    def __getitem__(self, i):
        tokens = torch.arange(i, i + 16) % 61
        return {"input_ids": tokens, "labels": tokens}


class Loss(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **more):
        if state.is_world_process_zero and "loss" in logs and state.global_step in (1, STEPS):
            print(f"step {state.global_step} loss {float(logs['loss']):.9f}", flush=True)


def main():
    set_seed(0)  # before the model is made
    cpu = not torch.cuda.is_available()
    args = TrainingArguments(output_dir="hf-trainer", max_steps=STEPS, per_device_train_batch_size=16, learning_rate=3e-3,
                             logging_steps=1, logging_first_step=True, save_strategy="no", report_to="none", seed=0, log_level="error",
                             disable_tqdm=True, use_cpu=cpu, lr_scheduler_type="constant")
    model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0.0,
                                       embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0))
    trainer = Trainer(model=model, args=args, train_dataset=Counting(), callbacks=[Loss()])
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    print(f"rank {args.process_index} of {args.world_size}: done", flush=True)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
