import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(33)


class ParenDataset(Dataset):
    """strings of brackets, balanced or not (two kinds of bracket)"""
    VOCAB = {"<pad>": 0, "(": 1, ")": 2, "[": 3, "]": 4}

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for k in range(n):
            s = self._balanced(int(torch.randint(3, 10, (1,), generator=g)), g)
            label = k % 2
            if label == 0:
                i = int(torch.randint(len(s), (1,), generator=g))
                s[i] = {1: 3, 2: 4, 3: 1, 4: 2}[s[i]]
            self.items.append((torch.tensor(s), label))

    def _balanced(self, pairs, g):
        out, stack, opened = [], [], 0
        while opened < pairs or stack:
            can_open = opened < pairs
            if can_open and (not stack or torch.rand(1, generator=g) < 0.5):
                b = 1 if torch.rand(1, generator=g) < 0.5 else 3
                out.append(b); stack.append(b + 1); opened += 1
            else:
                out.append(stack.pop())
        return out

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    seqs, labels = zip(*batch)
    lengths = torch.tensor([len(s) for s in seqs])
    return nn.utils.rnn.pad_sequence(seqs, batch_first=True), lengths, torch.tensor(labels, dtype=torch.float32)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(5, 16, padding_idx=0)
        self.rnn = nn.GRU(16, 48, batch_first=True)
        self.fc = nn.Linear(48, 1)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.emb(x), lengths, batch_first=True, enforce_sorted=False)
        _, h = self.rnn(packed)
        return self.fc(h[-1]).squeeze(-1)


train = DataLoader(ParenDataset(4000, 1), batch_size=32, shuffle=True, collate_fn=collate)
test = DataLoader(ParenDataset(800, 2), batch_size=128, collate_fn=collate)
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=12)
for epoch in range(12):
    model.train()
    total = 0
    for x, n, y in train:
        opt.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(x, n), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        total += loss.item()
    sched.step()
    model.eval()
    hit = 0
    with torch.no_grad():
        for x, n, y in test:
            hit += ((model(x, n) > 0).float() == y).sum().item()
    print(f"epoch {epoch + 1}: loss {total / len(train):.4f} test accuracy {hit / 800:.4f}")
