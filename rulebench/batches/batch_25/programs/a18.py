import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader, random_split

torch.manual_seed(21)

# Task: is there a "3 ... 7" (a 3 somewhere before a 7) in the sequence?
VOCAB, LENGTH, COUNT = 10, 16, 4000
seqs = torch.randint(0, VOCAB, (COUNT, LENGTH))
first3 = torch.where((seqs == 3).any(1), (seqs == 3).float().argmax(1), torch.tensor(99))
last7 = torch.where((seqs == 7).any(1), LENGTH - 1 - (seqs.flip(1) == 7).float().argmax(1), torch.tensor(-1))
target = (first3 < last7).float()
print("positive share:", target.mean().item())

dataset = TensorDataset(seqs, target)
train_ds, valid_ds = random_split(dataset, [3200, 800])
train_dl = DataLoader(train_ds, batch_size=32, shuffle=True)
valid_dl = DataLoader(valid_ds, batch_size=100)


class SeqClassifier(nn.Module):
    def __init__(self, emb=16, hidden=32):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, emb)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        _, (h, _) = self.lstm(self.embedding(x))
        return self.fc(h[-1]).squeeze(1)


model = SeqClassifier()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(15):
    model.train()
    train_loss = 0
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        train_loss += loss.item()
    model.eval()
    hits = 0
    with torch.no_grad():
        for xb, yb in valid_dl:
            hits += ((model(xb) > 0).float() == yb).sum().item()
    print(f"Epoch {epoch + 1}/15 - loss: {train_loss / len(train_dl):.4f} - val_acc: {hits / len(valid_ds):.4f}")
