import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence
from torch.utils.data import DataLoader

# variable length sequences: is the maximum in the first half?
torch.manual_seed(204)


def sample():
    n = torch.randint(4, 20, (1,)).item()
    s = torch.rand(n)
    return s.unsqueeze(1), int(s.argmax().item() < n / 2)


data = [sample() for _ in range(2200)]


def collate(batch):
    xs, ys = zip(*batch)
    lens = torch.tensor([len(x) for x in xs])
    return pad_sequence(xs, batch_first=True), lens, torch.tensor(ys)


train = DataLoader(data[:1800], batch_size=32, shuffle=True, collate_fn=collate)
test = DataLoader(data[1800:], batch_size=100, collate_fn=collate)


class Model(nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.rnn = nn.GRU(1, h, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * h, 2)

    def forward(self, x, lens):
        packed = pack_padded_sequence(x, lens, batch_first=True, enforce_sorted=False)
        _, h = self.rnn(packed)
        return self.fc(torch.cat([h[0], h[1]], dim=1))


model = Model()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
crit = nn.CrossEntropyLoss()
for epoch in range(20):
    model.train()
    tot = 0
    for x, l, t in train:
        loss = crit(model(x, l), t)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        tot += loss.item()
    model.eval()
    with torch.no_grad():
        hit = sum((model(x, l).argmax(1) == t).sum().item() for x, l, t in test)
    print(f"{epoch} loss {tot / len(train):.4f} test acc {hit / 400:.4f}")
