"""Masked-LM pre-training of a very small BERT on synthetic 'sentences'."""
import argparse
import torch
from torch.utils.data import Dataset, DataLoader
from transformers import BertConfig, BertForMaskedLM

PAD, MASK, OFFSET = 0, 1, 2
N_WORDS = 30


class PatternCorpus(Dataset):
    """Words follow w[i+1] = (w[i] + d) mod N with one stride d per sentence."""

    def __init__(self, n, length, seed):
        g = torch.Generator().manual_seed(seed)
        start = torch.randint(N_WORDS, (n, 1), generator=g)
        d = torch.randint(1, 4, (n, 1), generator=g)
        self.x = (start + d * torch.arange(length)) % N_WORDS + OFFSET

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i]


class MaskingCollator:
    def __init__(self, prob):
        self.prob = prob

    def __call__(self, items):
        ids = torch.stack(items)
        labels = ids
        chosen = torch.rand(ids.shape) < self.prob
        ids[chosen] = MASK
        labels = labels.masked_fill(~chosen, -100)
        return {"input_ids": ids, "labels": labels}


@torch.no_grad()
def masked_accuracy(model, loader):
    model.eval()
    hit = tot = 0
    for b in loader:
        pred = model(input_ids=b["input_ids"]).logits.argmax(-1)
        m = b["labels"] != -100
        hit += (pred[m] == b["labels"][m]).sum().item()
        tot += m.sum().item()
    return hit / tot


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--mask-prob", type=float, default=0.15)
    args = ap.parse_args()
    torch.manual_seed(0)
    collate = MaskingCollator(args.mask_prob)
    train = DataLoader(PatternCorpus(2000, 12, 0), batch_size=32, shuffle=True, collate_fn=collate)
    test = DataLoader(PatternCorpus(400, 12, 1), batch_size=100, collate_fn=collate)
    cfg = BertConfig(vocab_size=N_WORDS + OFFSET, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                     intermediate_size=96, max_position_embeddings=16, pad_token_id=PAD,
                     hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertForMaskedLM(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for ep in range(1, args.epochs + 1):
        model.train()
        tot = 0.0
        for b in train:
            loss = model(input_ids=b["input_ids"], labels=b["labels"]).loss
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
        print(f"epoch {ep} mlm loss {tot / len(train):.4f} masked acc {masked_accuracy(model, test):.3f}")
    model.eval()
    probe = PatternCorpus(200, 12, 2).x
    for pos in (3, 7):
        x = probe.clone()
        x[:, pos] = MASK
        with torch.no_grad():
            guess = model(input_ids=x).logits[:, pos].argmax(-1)
        print(f"fill-in at position {pos}: {(guess == probe[:, pos]).float().mean():.3f} correct")


if __name__ == "__main__":
    main()
