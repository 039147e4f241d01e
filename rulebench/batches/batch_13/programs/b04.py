import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(42)

digits = load_digits()
X = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
y = torch.tensor(digits.target)
tr, te = train_test_split(torch.arange(len(y)), test_size=0.3, random_state=42)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(-1, 32 * 2 * 2)
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return F.log_softmax(x, dim=0)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)

for epoch in range(15):
    net.train()
    order = tr[torch.randperm(len(tr))]
    losses = []
    for b in order.split(32):
        optimizer.zero_grad()
        output = net(X[b])
        loss = F.nll_loss(output, y[b])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        correct = sum((net(X[b]).argmax(1) == y[b]).sum().item() for b in te.split(1))
    print('Epoch: {} \tLoss: {:.4f}\tTest acc: {:.2f}%'.format(
        epoch + 1, sum(losses) / len(losses), 100. * correct / len(te)))
