"""Transformer encoder for variable-length event logs: which of 4 root causes does the log show?

Library-example style: config dataclass, collate function, train / evaluate functions."""
from dataclasses import dataclass
import math
import torch
from torch import nn, Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


@dataclass
class Config:
    vocab: int = 60
    d_model: int = 48
    heads: int = 4
    layers: int = 2
    classes: int = 4
    epochs: int = 8
    batch_size: int = 48
    lr: float = 1e-3


PAD, CLS = 0, 1
cfg = Config()
torch.manual_seed(6)


def make_log() -> tuple[Tensor, int]:
    n = int(torch.randint(8, 36, (1,)))
    ids = torch.randint(10, cfg.vocab, (n,))
    label = int(torch.randint(0, cfg.classes, (1,)))
    where = torch.randperm(n)[:3]
    ids[where] = 2 + label                        # three marker events of the cause
    other = torch.randperm(n)[:1]
    ids[other] = 2 + int(torch.randint(0, cfg.classes, (1,)))  # one misleading marker
    return torch.cat([torch.tensor([CLS]), ids]), label


def collate(batch):
    seqs, labels = zip(*batch)
    x = pad_sequence(seqs, batch_first=True, padding_value=PAD)
    mask = x != PAD
    return x, mask, torch.tensor(labels)


class LogEncoder(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.emb = nn.Embedding(c.vocab, c.d_model, padding_idx=PAD)
        pos = torch.arange(64).unsqueeze(1)
        div = torch.exp(torch.arange(0, c.d_model, 2) * (-math.log(10000.0) / c.d_model))
        pe = torch.zeros(64, c.d_model)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        self.register_buffer("pe", pe)
        layer = nn.TransformerEncoderLayer(c.d_model, c.heads, 96, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, c.layers, enable_nested_tensor=False)
        self.head = nn.Linear(c.d_model, c.classes)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        h = self.emb(x) * math.sqrt(self.emb.embedding_dim) + 0.3 * self.pe[: x.size(1)]
        h = self.encoder(h, src_key_padding_mask=mask)
        m = (x != PAD).unsqueeze(-1).float()
        return self.head(torch.where(m.bool(), h, torch.zeros_like(h))[:, 0])


def evaluate(model, loader):
    model.eval()
    ok = n = 0
    with torch.no_grad():
        for x, mask, y in loader:
            ok += (model(x, mask).argmax(-1) == y).sum().item()
            n += len(y)
    return ok / n


train_loader = DataLoader([make_log() for _ in range(3000)], cfg.batch_size, shuffle=True, collate_fn=collate)
test_loader = DataLoader([make_log() for _ in range(600)], cfg.batch_size, collate_fn=collate)
model = LogEncoder(cfg)
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
for epoch in range(cfg.epochs):
    model.train()
    tot = 0.0
    for x, mask, y in train_loader:
        loss = nn.functional.cross_entropy(model(x, mask), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tot += loss.item()
    print(f"epoch={epoch} loss={tot / len(train_loader):.4f} test_acc={evaluate(model, test_loader):.4f}")
print("test accuracy", evaluate(model, test_loader))
