"""Trains a randomly initialised tiny GPT-2 on synthetic text by the Trainer of Transformers."""

import argparse
import tempfile
import time

import torch
import transformers
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Patterns(Dataset):
    """Sequences that repeat a random phrase of eight tokens."""

    def __init__(self, count, length, vocab_size):
        phrases = torch.randint(0, vocab_size, (count, 8))
        self.tokens = phrases.repeat(1, length // 8)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


class Clock(transformers.TrainerCallback):
    """Times the steps after the first few."""

    def __init__(self, warmup):
        self.warmup = warmup
        self.start = time.perf_counter()

    def on_step_end(self, args, state, control, **kwargs):  # noqa: ARG002
        if state.global_step == self.warmup:
            self.start = time.perf_counter()

    def on_train_end(self, args, state, control, **kwargs):  # noqa: ARG002
        self.elapsed = time.perf_counter() - self.start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100, help="optimizer steps")
    args = parser.parse_args()

    transformers.set_seed(42)
    config = GPT2Config(vocab_size=256, n_positions=64, n_embd=96, n_layer=3, n_head=4)
    config.bos_token_id = config.eos_token_id = 0
    model = GPT2LMHeadModel(config)
    warmup = max(1, min(20, args.steps // 10))
    clock = Clock(warmup)
    with tempfile.TemporaryDirectory() as folder:
        training_args = TrainingArguments(
            output_dir=folder,
            max_steps=args.steps,
            per_device_train_batch_size=16,
            learning_rate=5e-4,
            lr_scheduler_type="linear",
            logging_steps=max(1, args.steps // 10),
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
            seed=42,
        )
        trainer = Trainer(
            model=model,
            args=training_args,
            train_dataset=Patterns(1024, 64, config.vocab_size),
            callbacks=[clock],
        )
        trainer.train()

    loss = [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry][-1]
    print(f"steps_per_s={(args.steps - warmup) / clock.elapsed:.3f} loss={loss!r}")


if __name__ == "__main__":
    main()
