"""Train a tiny GPT-2 from scratch on a synthetic grammar."""
import argparse
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import GPT2Config, GPT2LMHeadModel


def make_corpus(n_seq, length, vocab, seed):
    """Order-1 Markov chain with three likely successors per token."""
    rng = np.random.default_rng(7)
    succ = np.stack([rng.choice(vocab, 3, replace=False) for _ in range(vocab)])
    prob = np.array([0.8, 0.15, 0.05])
    rng = np.random.default_rng(seed)
    out = np.zeros((n_seq, length), dtype=np.int64)
    out[:, 0] = rng.integers(0, vocab, n_seq)
    for t in range(1, length):
        pick = rng.choice(3, size=n_seq, p=prob)
        out[:, t] = succ[out[:, t - 1], pick]
    return torch.from_numpy(out), succ


def build(vocab, length):
    cfg = GPT2Config(vocab_size=vocab, n_positions=length, n_embd=48, n_layer=2, n_head=4,
                     resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                     bos_token_id=0, eos_token_id=0)
    return GPT2LMHeadModel(cfg)


def step_loss(model, batch):
    x = batch
    inputs, labels = x[:, :-1], x[:, 1:]
    return model(input_ids=inputs, labels=labels.contiguous()).loss


def next_token_accuracy(model, data, succ):
    """How often the arg-max continuation is the most likely successor."""
    model.eval()
    with torch.no_grad():
        pred = model(input_ids=data).logits.argmax(-1)
    model.train()
    best = torch.from_numpy(succ[:, 0])[data]
    return (pred == best).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--vocab", type=int, default=40)
    ap.add_argument("--length", type=int, default=24)
    args = ap.parse_args()
    torch.manual_seed(0)
    train, succ = make_corpus(800, args.length, args.vocab, 1)
    valid, _ = make_corpus(200, args.length, args.vocab, 2)
    model = build(args.vocab, args.length)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    loader = DataLoader(TensorDataset(train), batch_size=args.batch, shuffle=True)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.1, args.epochs * len(loader))
    for epoch in range(args.epochs):
        tot = 0.0
        for (batch,) in loader:
            loss = step_loss(model, batch)
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            tot += loss.item()
        with torch.no_grad():
            val = step_loss(model, valid).item()
        print(f"epoch {epoch + 1} train {tot / len(loader):.3f} valid {val:.3f} "
              f"best-successor accuracy {next_token_accuracy(model, valid, succ):.3f}")


if __name__ == "__main__":
    main()
