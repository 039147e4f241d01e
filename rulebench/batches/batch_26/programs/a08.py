"""Session based recommender: guess the next product of a session.  (Simulated click log)"""
import random
import numpy as np
import torch
import torch.nn as nn

N_ITEMS, SESSION = 200, 8
random.seed(2); np.random.seed(2); torch.manual_seed(2)

# every product has 4 natural successors with unequal popularity
succ = np.random.randint(0, N_ITEMS, size=(N_ITEMS, 4))
prob = np.array([0.55, 0.25, 0.15, 0.05])


def session():
    s = [np.random.randint(N_ITEMS)]
    while len(s) < SESSION + 1:
        s.append(succ[s[-1], np.random.choice(4, p=prob)] if random.random() < 0.92 else np.random.randint(N_ITEMS))
    return s


log = torch.tensor(np.array([session() for _ in range(3000)]), dtype=torch.long)
train, valid = log[:2600], log[2600:]


class NextItem(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(N_ITEMS, 48)
        self.gru = nn.GRU(48, 64, batch_first=True)
        self.head = nn.Linear(64, N_ITEMS)
        self.act = nn.Softmax(dim=-1)

    def forward(self, x):
        h, _ = self.gru(self.emb(x))
        return self.act(self.head(h))


def hit_rate(model, data, k=3):
    model.eval()
    with torch.no_grad():
        scores = model(data[:, :-1])
        top = scores.topk(k, dim=-1).indices
        return (top == data[:, 1:, None]).any(-1).float().mean().item()


model = NextItem()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(1, 16):
    model.train()
    running = 0.0
    for idx in torch.randperm(len(train)).split(64):
        batch = train[idx]
        optimizer.zero_grad()
        out = model(batch[:, :-1])
        loss = criterion(out.reshape(-1, N_ITEMS), batch[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx)
    if epoch % 3 == 0:
        print(f"epoch {epoch:2d}  loss {running / len(train):.4f}  HR@3 {hit_rate(model, valid):.4f}")

print("final HR@3 on new sessions:", round(hit_rate(model, valid), 4))
