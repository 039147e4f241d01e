"""Train a very small GPT-2 on synthetic token sequences and look at how it continues a prompt."""
import argparse
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel

VOCAB = 24


def build_corpus(n_tokens, seed):
    # every token has one favourite successor (90 %), otherwise uniform
    rng = np.random.default_rng(seed)
    succ = rng.permutation(VOCAB)
    out = [int(rng.integers(VOCAB))]
    for _ in range(n_tokens - 1):
        out.append(int(succ[out[-1]]) if rng.random() < 0.9 else int(rng.integers(VOCAB)))
    return np.array(out), succ


class Blocks(Dataset):
    def __init__(self, tokens, block):
        self.tokens = torch.tensor(tokens, dtype=torch.long)
        self.block = block

    def __len__(self):
        return (len(self.tokens) - 1) // self.block

    def __getitem__(self, i):
        s = i * self.block
        chunk = self.tokens[s:s + self.block + 1]
        return {"input_ids": chunk[:-1], "labels": chunk[1:]}


@torch.no_grad()
def continuation_score(model, succ, n=48):
    model.eval()
    hits = total = 0
    start = torch.arange(VOCAB).unsqueeze(1)
    ids = start
    for _ in range(6):
        nxt = model(input_ids=ids).logits[:, -1].argmax(-1, keepdim=True)
        want = torch.tensor(succ)[ids[:, -1]]
        hits += (nxt[:, 0] == want).sum().item()
        total += len(want)
        ids = torch.cat([ids, nxt], 1)
    return hits / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--block", type=int, default=32)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    tokens, succ = build_corpus(30000, 0)
    n = 27000
    train = DataLoader(Blocks(tokens[:n], args.block), batch_size=16, shuffle=True)
    val = DataLoader(Blocks(tokens[n:], args.block), batch_size=32)

    cfg = GPT2Config(vocab_size=VOCAB, n_positions=64, n_embd=48, n_layer=2, n_head=4,
                     bos_token_id=0, eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    model = GPT2LMHeadModel(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.1, total_iters=args.epochs * len(train))
    for epoch in range(args.epochs):
        model.train()
        tr = 0.0
        for batch in train:
            loss = model(**batch).loss
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            tr += loss.item()
        model.eval()
        with torch.no_grad():
            va = np.mean([model(**b).loss.item() for b in val])
        print(f"epoch {epoch + 1} train {tr / len(train):.4f} val {va:.4f} ppl {np.exp(va):.2f} "
              f"greedy continuation {continuation_score(model, succ):.3f}")


if __name__ == "__main__":
    main()
