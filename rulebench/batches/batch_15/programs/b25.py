"""Character model with gradient accumulation: micro batches of 8, effective batch of 32."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = ("the quick brown fox jumps over the lazy dog. " "a stitch in time saves nine. "
        "all that glitters is not gold. " "actions speak louder than words. ")


class CharLSTM(nn.Module):
    def __init__(self, vocab, emb=24, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x):
        h, _ = self.lstm(self.emb(x))
        return self.out(h)


def sentences(n, gen):
    parts = [s.strip() + ". " for s in TEXT.split(".") if s.strip()]
    idx = torch.randint(0, len(parts), (n,), generator=gen)
    return "".join(parts[i] for i in idx)


def batches(ids, size, seq, gen):
    starts = torch.randint(0, len(ids) - seq - 1, (size,), generator=gen)
    x = torch.stack([ids[s:s + seq] for s in starts])
    y = torch.stack([ids[s + 1:s + seq + 1] for s in starts])
    return x, y


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=250)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--micro", type=int, default=8)
    ap.add_argument("--seq", type=int, default=40)
    args = ap.parse_args()
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    text = sentences(900, gen)
    chars = sorted(set(text))
    ids = torch.tensor([chars.index(c) for c in text])
    cut = int(0.9 * len(ids))
    train, val = ids[:cut], ids[cut:]
    model = CharLSTM(len(chars))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)

    step = 0
    running = 0.0
    for micro in range(args.updates * args.accum):
        x, y = batches(train, args.micro, args.seq, gen)
        loss = F.cross_entropy(model(x).transpose(1, 2), y) / args.accum
        loss.backward()
        running += loss.item()
        if (micro + 1) % args.accum == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
            step += 1
            if step % 50 == 0:
                with torch.no_grad():
                    xv, yv = batches(val, 32, args.seq, gen)
                    vl = F.cross_entropy(model(xv).transpose(1, 2), yv)
                print(f"update {step} train {running / 50:.4f} val {vl.item():.4f}")
                running = 0.0


if __name__ == "__main__":
    main()
