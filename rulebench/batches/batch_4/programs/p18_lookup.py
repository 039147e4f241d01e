"""Toy memory network: a list of (key, value) pairs and a question (one of the
keys); the answer is the value that belongs to it. Attention should solve it."""
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 8
torch.manual_seed(SEED)

N_KEYS, N_VALUES, PAIRS, DIM = 30, 10, 8, 32


def sample(n):
    keys = torch.stack([torch.randperm(N_KEYS)[:PAIRS] for _ in range(n)])
    values = torch.randint(0, N_VALUES, (n, PAIRS))
    which = torch.randint(0, PAIRS, (n,))
    rows = torch.arange(n)
    return keys, values, keys[rows, which], values[rows, which]


class MemoryNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.key_emb = nn.Embedding(N_KEYS, DIM)
        self.question_emb = nn.Embedding(N_KEYS, DIM)
        self.value_emb = nn.Embedding(N_VALUES, DIM)
        self.out = nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU(), nn.Linear(DIM, N_VALUES))

    def forward(self, keys, values, question):
        k = self.key_emb(keys)                          # (batch, pairs, dim)
        v = self.value_emb(values)                      # (batch, pairs, dim)
        q = self.question_emb(question).unsqueeze(2)    # (batch, dim, 1)
        scores = torch.bmm(k, q) / DIM ** 0.5           # (batch, pairs, 1)
        attention = F.softmax(scores, dim=0)
        memory = (attention * v).sum(dim=1)             # (batch, dim)
        return self.out(memory)


def main():
    train = sample(8000)
    test = sample(2000)
    net = MemoryNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    batch_size = 64

    for epoch in range(1, 11):
        net.train()
        perm = torch.randperm(8000)
        total = 0
        for idx in perm.split(batch_size):
            keys, values, question, answer = (t[idx] for t in train)
            optimizer.zero_grad()
            loss = criterion(net(keys, values, question), answer)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        net.eval()
        with torch.no_grad():
            hits = 0
            for idx in torch.arange(2000).split(batch_size):
                keys, values, question, answer = (t[idx] for t in test)
                hits += (net(keys, values, question).argmax(1) == answer).sum().item()
        print("Epoch %2d | loss %.4f | test accuracy %.3f" % (epoch, total / 8000, hits / 2000))

    # now as it will be used: somebody asks one question at a time
    hits = 0
    with torch.no_grad():
        for i in range(500):
            keys, values, question, answer = (t[i:i + 1] for t in test)
            hits += (net(keys, values, question).argmax(1) == answer).item()
    print("single questions: %.3f right" % (hits / 500))


if __name__ == "__main__":
    main()
