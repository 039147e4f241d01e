import argparse, time
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.model_selection import train_test_split

parser = argparse.ArgumentParser()
parser.add_argument('--epochs', type=int, default=30)
parser.add_argument('--batch-size', type=int, default=64)
parser.add_argument('--lr', type=float, default=0.02)
parser.add_argument('--gamma', type=float, default=0.93, help='decay factor of the learning rate')
parser.add_argument('--log-interval', type=int, default=5)
args = parser.parse_args()

torch.manual_seed(1)

X, y = make_classification(n_samples=6000, n_features=30, n_informative=12, n_redundant=4,
                           n_classes=6, n_clusters_per_class=2, class_sep=1.3, random_state=1)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=1500, random_state=1)
sc = StandardScaler().fit(Xtr)
train_set = torch.utils.data.TensorDataset(torch.tensor(sc.transform(Xtr)).float(), torch.tensor(ytr))
test_set = torch.utils.data.TensorDataset(torch.tensor(sc.transform(Xte)).float(), torch.tensor(yte))
train_loader = torch.utils.data.DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
test_loader = torch.utils.data.DataLoader(test_set, batch_size=500)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(30, 96)
        self.fc2 = nn.Linear(96, 96)
        self.fc3 = nn.Linear(96, 6)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return F.log_softmax(self.fc3(x), dim=1)


def train(model, optimizer, scheduler):
    model.train()
    seen = 0.
    for data, target in train_loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        scheduler.step()
        seen += loss.item()
    return seen / len(train_loader)


def test(model):
    model.eval()
    loss, correct = 0., 0
    with torch.no_grad():
        for data, target in test_loader:
            out = model(data)
            loss += F.nll_loss(out, target, reduction='sum').item()
            correct += (out.argmax(1) == target).sum().item()
    return loss / len(test_set), correct / len(test_set)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=args.gamma)
t0 = time.time()
for epoch in range(1, args.epochs + 1):
    tl = train(model, optimizer, scheduler)
    if epoch % args.log_interval == 0:
        vl, acc = test(model)
        print('Epoch {:3d} | train {:.4f} | test {:.4f} | acc {:.2%}'.format(epoch, tl, vl, acc))
print('{:.1f}s, test accuracy {:.4f}'.format(time.time() - t0, test(model)[1]))
