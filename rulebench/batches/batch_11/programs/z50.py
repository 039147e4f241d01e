"""FedAvg with non-IID clients."""
import copy
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

CFG = {"clients": 10, "rounds": 25, "fraction": 0.5, "local_epochs": 2, "batch": 20, "lr": 0.1, "alpha": 0.5, "seed": 3}


def dirichlet_split(y, k, alpha, rng):
    parts = [[] for _ in range(k)]
    for c in np.unique(y):
        idx = rng.permutation(np.where(y == c)[0])
        cuts = (np.cumsum(rng.dirichlet([alpha] * k)) * len(idx)).astype(int)[:-1]
        for p, chunk in zip(parts, np.split(idx, cuts)):
            p.extend(chunk.tolist())
    return [np.array(p) for p in parts]


class Client:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def train(self, global_model):
        model = copy.deepcopy(global_model).train()
        opt = torch.optim.SGD(model.parameters(), lr=CFG["lr"])
        for _ in range(CFG["local_epochs"]):
            for idx in torch.randperm(len(self)).split(CFG["batch"]):
                loss = F.cross_entropy(model(self.x[idx]), self.y[idx])
                opt.zero_grad()
                loss.backward()
                opt.step()
        return model.state_dict(), loss.item()


def aggregate(states, sizes):
    total = float(sum(sizes))
    return {k: sum(s[k] * (n / total) for s, n in zip(states, sizes)) for k in states[0]}


def main():
    rng = np.random.default_rng(CFG["seed"])
    torch.manual_seed(CFG["seed"])
    d = load_digits()
    perm = rng.permutation(len(d.target))
    x, y = torch.tensor(d.data[perm] / 16.0, dtype=torch.float32), torch.tensor(d.target[perm])
    parts = [p for p in dirichlet_split(y[:1300].numpy(), CFG["clients"], CFG["alpha"], rng) if len(p) > 0]
    clients = [Client(x[p], y[p]) for p in parts]
    print("client sizes", [len(c) for c in clients])
    server = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    for rnd in range(CFG["rounds"]):
        chosen = rng.choice(len(clients), max(1, int(CFG["fraction"] * len(clients))), replace=False)
        results = [clients[i].train(server) for i in chosen]
        server.load_state_dict(aggregate([s for s, _ in results], [len(clients[i]) for i in chosen]))
        with torch.no_grad():
            acc = (server(x[1300:]).argmax(1) == y[1300:]).float().mean().item()
        if rnd % 4 == 0:
            print(f"round {rnd} local loss {np.mean([l for _, l in results]):.4f} server test acc {acc:.4f}")
    print(f"final acc {acc:.4f}")


if __name__ == "__main__":
    main()
