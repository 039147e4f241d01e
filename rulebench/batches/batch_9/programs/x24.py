import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(209)
# which token appears more often, a or b
def sample():
    n = torch.randint(4, 25, (1,)).item()
    p = torch.rand(1).item()
    s = torch.where(torch.rand(n) < 0.4, torch.where(torch.rand(n) < p, 1, 2), torch.randint(3, 12, (n,)))
    return s, int((s == 1).sum() > (s == 2).sum())
data = [sample() for _ in range(1200)]
test = [sample() for _ in range(300)]

def collate(rows):
    xs = [r[0] for r in rows]
    return pad_sequence(xs, batch_first=True), torch.tensor([len(x) for x in xs]), torch.tensor([r[1] for r in rows])

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(12, 8, padding_idx=0)
        self.gru = nn.GRU(8, 24, batch_first=True)
        self.fc = nn.Linear(24, 2)

    def forward(self, x, n):
        _, h = self.gru(pack_padded_sequence(self.emb(x), n, batch_first=True, enforce_sorted=False))
        return self.fc(h[-1])

net = Net()
opt = torch.optim.RMSprop(net.parameters(), lr=3e-3)
tl = DataLoader(data, batch_size=30, shuffle=True, collate_fn=collate)
for epoch in range(10):
    net.train()
    tot = 0
    for x, n, y in tl:
        loss = nn.functional.cross_entropy(net(x, n), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    net.eval()
    with torch.no_grad():
        x, n, y = collate(test)
        print(epoch, "loss %.3f" % (tot / len(tl)), "test acc %.3f" % (net(x, n).argmax(1) == y).float().mean())
