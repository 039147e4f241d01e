"""Tiny GPT-2 with the Trainer: reverse a digit string. The prompt part of the labels is -100."""
import random

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

PAD, SEP, EOS = 10, 11, 12
MAX_DIGITS = 5
LENGTH = 2 * MAX_DIGITS + 2


class Reverse(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.items = []
        for _ in range(n):
            d = [rng.randrange(10) for _ in range(rng.randint(2, MAX_DIGITS))]
            prompt, answer = d + [SEP], d[::-1] + [EOS]
            pad = LENGTH - len(prompt) - len(answer)
            self.items.append({
                "input_ids": torch.tensor(prompt + answer + [PAD] * pad),
                "attention_mask": torch.tensor([1] * (LENGTH - pad) + [0] * pad),
                "labels": torch.tensor([-100] * len(prompt) + answer + [-100] * pad),
            })

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def preprocess_logits(logits, labels):
    return logits.argmax(-1)


def metrics(p):
    pred, lab = p.predictions[:, :-1], p.label_ids[:, 1:]
    mask = lab != -100
    token = (pred == lab)[mask].mean()
    whole = ((pred == lab) | ~mask).all(1).mean()
    return {"token_acc": float(token), "string_acc": float(whole)}


def main():
    set_seed(0)
    cfg = GPT2Config(vocab_size=13, n_positions=LENGTH, n_embd=64, n_layer=2, n_head=4, resid_pdrop=0.0,
                     embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=SEP, eos_token_id=EOS, pad_token_id=PAD)
    model = GPT2LMHeadModel(cfg)
    args = TrainingArguments(output_dir="/tmp/reverse_out", num_train_epochs=6, per_device_train_batch_size=64,
                             per_device_eval_batch_size=200, learning_rate=3e-3, lr_scheduler_type="cosine",
                             warmup_steps=40, weight_decay=0.01, logging_steps=60, eval_strategy="epoch",
                             save_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True)
    trainer = Trainer(model=model, args=args, train_dataset=Reverse(4000, 0), eval_dataset=Reverse(400, 1),
                      compute_metrics=metrics, preprocess_logits_for_metrics=preprocess_logits)
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
