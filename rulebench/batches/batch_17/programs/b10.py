"""Train a tiny GPT-2 on counting sequences and check the continuation it generates."""
import argparse
import random
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup

VOCAB, BOS = 22, 20


class Sequences(Dataset):
    """start, start + step, start + 2*step ... modulo 20, the step is constant within a sequence."""

    def __init__(self, n, length, seed):
        r = random.Random(seed)
        self.rows = []
        for _ in range(n):
            x, step = r.randrange(20), r.choice([1, 3, 7, 9])
            self.rows.append([BOS] + [(x + i * step) % 20 for i in range(length - 1)])

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return torch.tensor(self.rows[i])


def collate(rows):
    seq = torch.stack(rows)
    return {"input_ids": seq[:, :-1], "labels": seq[:, 1:]}


@torch.no_grad()
def continuation_accuracy(model, rows, prompt=4, new=8):
    model.eval()
    x = torch.stack(rows)
    out = model.generate(x[:, :prompt], attention_mask=torch.ones(len(x), prompt, dtype=torch.long),
                         max_new_tokens=new, do_sample=False, pad_token_id=21)
    return (out[:, prompt:prompt + new] == x[:, prompt:prompt + new]).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--batch-size", type=int, default=32)
    args = ap.parse_args()
    torch.manual_seed(0)
    train = Sequences(1000, 16, 0)
    test = Sequences(64, 16, 1)
    loader = DataLoader(train, batch_size=args.batch_size, shuffle=True, collate_fn=collate)
    cfg = GPT2Config(vocab_size=VOCAB, n_positions=32, n_embd=48, n_layer=2, n_head=4,
                     bos_token_id=BOS, eos_token_id=21)
    model = GPT2LMHeadModel(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    steps = args.epochs * len(loader)
    sched = get_linear_schedule_with_warmup(opt, steps // 10, steps)
    for ep in range(args.epochs):
        model.train()
        tot = 0.0
        for batch in loader:
            loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            tot += loss.item()
        acc = continuation_accuracy(model, [test[i] for i in range(len(test))])
        print(f"epoch {ep} loss {tot/len(loader):.4f} continuation accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
