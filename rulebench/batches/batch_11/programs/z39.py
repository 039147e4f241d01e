"""Masked-token pretraining of a tiny BERT on periodic sequences."""
import argparse
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForMaskedLM, get_linear_schedule_with_warmup

VOCAB, MASK, CLS = 34, 33, 32


class Periodic(Dataset):
    def __init__(self, n, seed, length=16):
        g = torch.Generator().manual_seed(seed)
        period = torch.randint(2, 4, (n,), generator=g)
        motif = torch.randint(0, 32, (n, 4), generator=g)
        pos = torch.arange(length)[None] % period[:, None]
        self.ids = torch.cat([torch.full((n, 1), CLS), motif.gather(1, pos)], 1)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return self.ids[i]


class MaskCollator:
    def __init__(self, prob, generator=None):
        self.prob, self.g = prob, generator

    def __call__(self, rows):
        ids = torch.stack(rows)
        labels = ids.clone()
        r = lambda: torch.rand(ids.shape, generator=self.g)
        chosen = (r() < self.prob) & (ids != CLS)
        labels[~chosen] = -100
        u = r()
        ids[chosen & (u < 0.8)] = MASK
        rnd = chosen & (u >= 0.8) & (u < 0.9)
        ids[rnd] = torch.randint(0, 32, (int(rnd.sum()),), generator=self.g)
        return {"input_ids": ids, "labels": labels}


@torch.no_grad()
def evaluate(model, ds):
    model.eval()
    hit = n = 0
    for b in DataLoader(ds, 100, collate_fn=MaskCollator(0.15, torch.Generator().manual_seed(5))):
        out = model(**b).logits.argmax(-1)
        m = b["labels"] != -100
        hit += (out[m] == b["labels"][m]).sum().item()
        n += m.sum().item()
    return hit / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=14)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--mlm-prob", type=float, default=0.2)
    args = ap.parse_args()
    torch.manual_seed(0)
    cfg = BertConfig(vocab_size=VOCAB, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                     max_position_embeddings=20, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertForMaskedLM(cfg)
    train, dev = Periodic(2000, 0), Periodic(300, 1)
    loader = DataLoader(train, 32, shuffle=True, collate_fn=MaskCollator(args.mlm_prob))
    no_decay = ("bias", "LayerNorm.weight")
    groups = [{"params": [p for n, p in model.named_parameters() if not n.endswith(no_decay)], "weight_decay": 0.01},
              {"params": [p for n, p in model.named_parameters() if n.endswith(no_decay)], "weight_decay": 0.0}]
    opt = torch.optim.AdamW(groups, lr=args.lr)
    total = args.epochs * len(loader)
    sched = get_linear_schedule_with_warmup(opt, total // 10, total)
    for ep in range(args.epochs):
        model.train()
        s = 0.0
        for batch in loader:
            loss = model(**batch).loss
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            s += loss.item()
        if ep % 2 == 1:
            print(f"epoch {ep + 1} loss {s / len(loader):.4f} masked accuracy {evaluate(model, dev):.4f}")


if __name__ == "__main__":
    main()
