import torch
from torch import nn

torch.manual_seed(42)

# Task: a sequence of 20 noisy readings; does the spike of channel A come before
# the spike of channel B?  Label 1 if A first.
def get_batch(n):
    x = torch.randn(n, 20, 2) * 0.3
    pos = torch.stack([torch.randperm(20)[:2] for _ in range(n)])
    x[torch.arange(n), pos[:, 0], 0] += 2.5
    x[torch.arange(n), pos[:, 1], 1] += 2.5
    return x, (pos[:, 0] < pos[:, 1]).long()


class OrderNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.LSTM(input_size=2, hidden_size=hidden, num_layers=1)
        self.head = nn.Linear(hidden, 2)

    def forward(self, x):
        # x: (batch, time, features)
        out, _ = self.rnn(x)
        return self.head(out[:, -1])


x_train, y_train = get_batch(3000)
x_valid, y_valid = get_batch(1000)

net = OrderNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)

for epoch in range(1, 16):
    perm = torch.randperm(len(x_train))
    running = 0.0
    for k in range(0, len(perm), 50):
        idx = perm[k:k + 50]
        optimizer.zero_grad()
        loss = criterion(net(x_train[idx]), y_train[idx])
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        running += loss.item() * len(idx)
    with torch.no_grad():
        acc = (net(x_valid).argmax(1) == y_valid).float().mean().item()
    print("Epoch %d, train loss %.4f, valid acc %.3f" % (epoch, running / len(perm), acc))

print("Result: accuracy = %.3f" % acc)
