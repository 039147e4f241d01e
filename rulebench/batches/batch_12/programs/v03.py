import argparse
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup, set_seed

torch.set_num_threads(1)
PAD, CLS, VOCAB, LEN = 0, 1, 60, 18


def reviews(n, rng):
    """positive words 2-11, negative words 12-21, negation 22 flips the following word"""
    X, M, Y = np.zeros((n, LEN), "int64"), np.zeros((n, LEN), "int64"), np.zeros(n, "int64")
    for i in range(n):
        while True:
            m = rng.integers(8, LEN)
            w = rng.integers(23, VOCAB, m)
            k = rng.choice(m - 1, 3, replace=False) + 1
            w[k] = rng.integers(2, 22, 3)
            flip = rng.uniform() < 0.3
            if flip:
                w[k[0] - 1] = 22
            s = sum((1 if 2 <= w[j] < 12 else -1 if 12 <= w[j] < 22 else 0) * (-1 if w[j - 1] == 22 else 1) for j in range(1, m))
            if s != 0:
                break
        X[i, 0] = CLS
        X[i, 1:m + 1] = w[:LEN - 1]
        M[i, :m + 1] = 1
        Y[i] = int(s > 0)
    return TensorDataset(torch.tensor(X), torch.tensor(M), torch.tensor(Y))


def accuracy(model, loader):
    model.eval()
    ok = n = 0
    with torch.no_grad():
        for x, m, y in loader:
            ok += (model(input_ids=x, attention_mask=m).logits.argmax(-1) == y).sum().item()
            n += len(y)
    return ok / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    set_seed(0)
    rng = np.random.default_rng(0)
    train, test = reviews(2400, rng), reviews(500, rng)
    loader, tl = DataLoader(train, 32, shuffle=True), DataLoader(test, 100)
    model = BertForSequenceClassification(BertConfig(vocab_size=VOCAB, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                                                     intermediate_size=64, max_position_embeddings=LEN, num_labels=2, pad_token_id=PAD))
    decay = [p for n, p in model.named_parameters() if "bias" not in n and "LayerNorm" not in n]
    rest = [p for n, p in model.named_parameters() if "bias" in n or "LayerNorm" in n]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}], lr=args.lr)
    total = args.epochs * len(loader)
    sched = get_linear_schedule_with_warmup(opt, total // 10, total)
    for ep in range(args.epochs):
        model.train()
        tot = 0.0
        for x, m, y in loader:
            loss = model(input_ids=x, attention_mask=m, labels=y).loss
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            tot += loss.item()
        print(ep, "loss", round(tot / len(loader), 4), "test", accuracy(model, tl))


if __name__ == "__main__":
    main()
