# Homework 2 - MLP classification
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

torch.manual_seed(77)
X, y = make_moons(3000, noise=0.15, random_state=3)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, random_state=3)
train = DataLoader(TensorDataset(torch.tensor(Xtr).float(), torch.tensor(ytr)), batch_size=64, shuffle=True)
test = DataLoader(TensorDataset(torch.tensor(Xte).float(), torch.tensor(yte)), batch_size=256)

model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def evaluate():
    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in test:
            correct += (model(xb).argmax(dim=1) == yb).sum().item()
    return correct / len(test.dataset)


for epoch in range(60):
    model.train()
    total_loss = 0
    for xb, yb in train:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
    if (epoch + 1) % 10 == 0:
        print(f"Epoch {epoch + 1}, loss = {total_loss / len(train):.4f}, test acc = {evaluate():.4f}")

print("Final accuracy:", evaluate())
