"""Transformer encoder for slot tagging of variable-length sequences."""
import random
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

PAD, VOCAB, TAGS, IGNORE = 0, 40, 5, -100


def make_sentence(rng):
    n = rng.randint(4, 22)
    words = [rng.randint(1, VOCAB - 1) for _ in range(n)]
    first = words[0] % 2
    tags = []
    for i, w in enumerate(words):
        prev = words[i - 1] if i else 0
        tags.append((w % 3 + (prev > 20) + first) % TAGS)
    return words, tags


class TagDataset(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.data = [make_sentence(rng) for _ in range(n)]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i]


def collate(batch):
    n = max(len(w) for w, _ in batch)
    x = torch.full((len(batch), n), PAD)
    y = torch.full((len(batch), n), IGNORE)
    for i, (w, t) in enumerate(batch):
        x[i, :len(w)] = torch.tensor(w)
        y[i, :len(t)] = torch.tensor(t)
    return x, y


class Tagger(nn.Module):
    def __init__(self, dim=48, heads=4, layers=2, max_len=64):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(dim, TAGS)

    def forward(self, x):
        h = self.tok(x) + self.pos(torch.arange(x.shape[1]))
        mask = x != PAD
        return self.out(self.encoder(h, src_key_padding_mask=mask))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    ok = n = 0
    for x, y in loader:
        p = model(x).argmax(-1)
        keep = y != IGNORE
        ok += (p[keep] == y[keep]).sum().item()
        n += keep.sum().item()
    return ok / n


def main():
    torch.manual_seed(2)
    train, dev = TagDataset(1500, 0), TagDataset(300, 1)
    tl = DataLoader(train, 32, shuffle=True, collate_fn=collate)
    dl = DataLoader(dev, 64, collate_fn=collate)
    model = Tagger()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    epochs = 10
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 2e-3, total_steps=epochs * len(tl))
    loss_fn = nn.CrossEntropyLoss(ignore_index=IGNORE)
    for ep in range(epochs):
        model.train()
        tot = 0.0
        for x, y in tl:
            loss = loss_fn(model(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            tot += loss.item()
        print(f"epoch {ep} loss {tot / len(tl):.4f} dev acc {evaluate(model, dl):.4f}")


if __name__ == "__main__":
    main()
