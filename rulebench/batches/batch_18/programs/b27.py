"""Tiny GPT-2 trained from scratch to spell counting sequences (character level)."""
import argparse
import random

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

CHARS = "_0123456789,;"
STOI = {c: i for i, c in enumerate(CHARS)}
LEN = 24


def make_line(rng):
    start, step = rng.randint(0, 60), rng.randint(1, 5)
    text = ",".join(str(start + step * i) for i in range(12))
    return text[:LEN - 1] + ";"


class Lines(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.lines = [make_line(rng) for _ in range(n)]

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, i):
        return torch.tensor([STOI[c] for c in self.lines[i]])


def collate(batch):
    ids = torch.stack(batch)
    labels = torch.cat([ids[:, 1:], torch.full((ids.size(0), 1), -100)], dim=1)
    return {"input_ids": ids, "labels": labels}


@torch.no_grad()
def next_char_accuracy(model, data, prompt=12):
    model.eval()
    ids = torch.stack([data[i] for i in range(len(data))])
    logits = model(input_ids=ids).logits[:, prompt - 1:-1]
    model.train()
    return (logits.argmax(-1) == ids[:, prompt:]).float().mean().item()


@torch.no_grad()
def sample(model, text, n=12):
    model.eval()
    ids = torch.tensor([[STOI[c] for c in text]])
    for _ in range(n):
        ids = torch.cat([ids, model(input_ids=ids).logits[:, -1].argmax(-1, keepdim=True)], dim=1)
    model.train()
    return "".join(CHARS[i] for i in ids[0].tolist())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    train, test = Lines(2400, 0), Lines(200, 1)
    loader = DataLoader(train, batch_size=32, shuffle=True, collate_fn=collate)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(CHARS), n_positions=LEN, n_embd=48, n_layer=2, n_head=4,
                                       resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                                       bos_token_id=0, eos_token_id=0))
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = get_cosine_schedule_with_warmup(opt, 20, args.epochs * len(loader))
    for epoch in range(args.epochs):
        total = 0.0
        for batch in loader:
            loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            total += loss.item()
        print(f"epoch {epoch + 1} loss {total / len(loader):.4f} next-char accuracy {next_char_accuracy(model, test):.3f}")
        print("   ", sample(model, "12,15,18,2"))


if __name__ == "__main__":
    main()
