import numpy as np, torch, torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

# customer churn (toy version of my data)
torch.manual_seed(0)
X, y = make_classification(n_samples=3000, n_features=20, n_informative=10, n_redundant=2,
                           n_classes=3, class_sep=1.3, random_state=3)
X = (X - X.mean(0)) / X.std(0)
Xtr, Xte, ytr, yte = train_test_split(X.astype(np.float32), y, test_size=0.25, random_state=0)
Xtr, Xte = torch.tensor(Xtr), torch.tensor(Xte)
ytr, yte = torch.tensor(ytr), torch.tensor(yte)

class Net(nn.Module):
    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        self.fc1 = nn.Linear(n_in, n_hidden)
        self.fc2 = nn.Linear(n_hidden, n_hidden)
        self.out = nn.Linear(n_hidden, n_out)
    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.out(x)

model = Net(20, 32, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

# bigger hidden layer
model = Net(20, 64, 3)
print(model)

for epoch in range(30):
    model.train()
    perm = torch.randperm(len(Xtr))
    total = 0.0
    for i in range(0, len(Xtr), 64):
        idx = perm[i:i + 64]
        optimizer.zero_grad()
        loss = criterion(model(Xtr[idx]), ytr[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        acc = (model(Xte).argmax(1) == yte).float().mean().item()
    print(f"epoch {epoch+1:2d} loss {total/len(Xtr):.4f} test acc {acc:.3f}")
