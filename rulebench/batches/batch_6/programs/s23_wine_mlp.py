# My first neural net on the wine dataset - following along the course notebook
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.model_selection import train_test_split

torch.manual_seed(42)
data = load_wine()
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.25, random_state=42, stratify=data.target)
sc = StandardScaler().fit(X_train)
X_train = torch.tensor(sc.transform(X_train), dtype=torch.float32)
X_test = torch.tensor(sc.transform(X_test), dtype=torch.float32)
y_train = torch.tensor(y_train)
y_test = torch.tensor(y_test)

train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=16, shuffle=True)

model = nn.Sequential(
    nn.Linear(13, 32),
    nn.ReLU(),
    nn.Linear(32, 16),
    nn.ReLU(),
    nn.Linear(16, 3),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)

num_epochs = 60
for epoch in range(num_epochs):
    model.train()
    running = 0.0
    for xb, yb in train_loader:
        out = model(xb)
        loss = criterion(out, yb)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        running += loss.item() * len(xb)
    if (epoch + 1) % 10 == 0:
        model.eval()
        with torch.no_grad():
            acc = (model(X_test).argmax(1) == y_test).float().mean().item()
        print(f"Epoch [{epoch+1}/{num_epochs}] loss: {running/len(X_train):.4f} test acc: {acc:.3f}")
print("Done. final test acc %.4f" % acc)
