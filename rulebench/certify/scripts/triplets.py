"""An embedding by triplets, with a loader of workers and augmentation at random."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Triplets(Dataset):
    def __init__(self, size):
        self.centres = torch.randn(5, 10, generator=torch.Generator().manual_seed(0))
        self.size = size

    def __len__(self):
        return self.size

    def sample(self, kind):
        return self.centres[kind] + 0.3 * torch.randn(10)

    def __getitem__(self, index):
        kind = index % 5
        other = (kind + 1 + int(torch.randint(0, 4, ()))) % 5
        return self.sample(kind), self.sample(kind), self.sample(other)


torch.manual_seed(7)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
criterion = nn.TripletMarginLoss(margin=1.0)
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
loader = DataLoader(Triplets(320), batch_size=16, shuffle=True)
for epoch in range(3):
    running = 0.0
    for anchor, positive, negative in loader:
        optimizer.zero_grad()
        loss = criterion(net(anchor), net(positive), net(negative))
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(epoch, running / len(loader))
