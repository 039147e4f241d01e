"""Tiny GPT-2 on a synthetic grammar, loss computed by the model."""
import argparse
import random
import torch
from torch.utils.data import Dataset, DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

VOCAB, BOS, EOS, PAD = 35, 32, 33, 34


def sentence(rng):
    a, step = rng.randrange(32), rng.choice([1, 3, 5])
    return [BOS] + [(a + step * k) % 32 for k in range(rng.randint(6, 14))] + [EOS]


class GrammarDataset(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = [sentence(rng) for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return torch.tensor(self.rows[i])


def collate(rows):
    n = max(map(len, rows))
    ids = torch.full((len(rows), n), PAD)
    for i, r in enumerate(rows):
        ids[i, :len(r)] = r
    mask = (ids != PAD).long()
    labels = ids.masked_fill(mask == 0, -100)
    labels = torch.cat([labels[:, 1:], torch.full((len(rows), 1), -100)], 1)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


@torch.no_grad()
def continuation_accuracy(model, rows):
    """Feed three tokens, greedily continue and compare with the rule."""
    model.eval()
    ok = n = 0
    for r in rows:
        r = r[:8]
        ids = torch.tensor([r[:4]])
        while ids.shape[1] < len(r):
            nxt = model(input_ids=ids).logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, nxt], 1)
        ok += (ids[0, 4:] == torch.tensor(r[4:])).sum().item()
        n += len(r) - 4
    return ok / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--batch_size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    cfg = GPT2Config(vocab_size=VOCAB, n_positions=32, n_embd=48, n_layer=2, n_head=4, bos_token_id=BOS, eos_token_id=EOS, pad_token_id=PAD)
    model = GPT2LMHeadModel(cfg)
    train, test = GrammarDataset(1600, 0), GrammarDataset(60, 1)
    loader = DataLoader(train, args.batch_size, shuffle=True, collate_fn=collate)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    total = args.epochs * len(loader)
    sched = get_cosine_schedule_with_warmup(opt, total // 10, total)
    for ep in range(args.epochs):
        model.train()
        s = 0.0
        for batch in loader:
            loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            s += loss.item()
        print(f"epoch {ep} loss {s / len(loader):.4f} continuation accuracy {continuation_accuracy(model, test.rows):.3f}")


if __name__ == "__main__":
    main()
