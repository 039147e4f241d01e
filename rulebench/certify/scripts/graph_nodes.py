"""A graph convolution on all nodes at once, with masks of nodes."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(4)
nodes, classes = 90, 3
labels = torch.arange(nodes) % classes
linked = torch.rand(nodes, nodes) < torch.where(labels[:, None] == labels, 0.2, 0.02)
adjacency = (linked | linked.T | torch.eye(nodes, dtype=torch.bool)).float()
degree = adjacency.sum(1).rsqrt()
adjacency = degree[:, None] * adjacency * degree
features = torch.randn(nodes, 16)
train_mask, val_mask = torch.arange(nodes) < 45, torch.arange(nodes) >= 45


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, classes)

    def forward(self, x, adj):
        x = F.relu(adj @ self.first(x))
        x = F.dropout(x, 0.5, self.training)
        return F.log_softmax(adj @ self.second(x), dim=1)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(60):
    model.train()
    optimizer.zero_grad()
    output = model(features, adjacency)
    loss = F.nll_loss(output[train_mask], labels[train_mask])
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        output = model(features, adjacency)
        loss_val = F.nll_loss(output[val_mask], labels[val_mask])
    print(epoch, loss.item(), loss_val.item())
