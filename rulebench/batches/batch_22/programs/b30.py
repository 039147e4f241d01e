import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32 * 4, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.dropout(torch.flatten(x, 1))
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


def train(model, X, y, optimizer, batch_size=32):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(X)).split(batch_size):
        optimizer.zero_grad()
        loss = F.nll_loss(model(X[idx]), y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    return total / len(X)


def test(model, X, y):
    model.eval()
    with torch.no_grad():
        out = model(X)
    return F.nll_loss(out, y).item(), (out.argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(1)
    data = load_digits()
    X = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(data.target)
    scores = []
    for fold, (tr, te) in enumerate(StratifiedKFold(3, shuffle=True, random_state=1).split(data.data, data.target)):
        model = Net()
        optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.7)
        for epoch in range(1, 9):
            loss = train(model, X[tr], y[tr], optimizer)
            scheduler.step()
            if epoch % 2 == 0:
                vl, acc = test(model, X[te], y[te])
                print(f"Fold {fold} epoch {epoch}: train loss {loss:.4f} test loss {vl:.4f} accuracy {acc:.4f}")
        scores.append(test(model, X[te], y[te])[1])
    print("mean accuracy over folds:", sum(scores) / len(scores))


if __name__ == "__main__":
    main()
