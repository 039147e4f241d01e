import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch
import torch.nn.functional as F
import keras
from keras import layers

keras.utils.set_random_seed(29)

N_ITEMS, BATCH, TEMPERATURE = 300, 64, 0.1

rng = np.random.default_rng(29)
factors = rng.standard_normal((N_ITEMS, 6))
to_item = rng.standard_normal((6, 20))
to_query = rng.standard_normal((6, 24))
items = np.tanh(factors @ to_item / 2).astype("float32")


def make_queries(n):
    target = rng.integers(0, N_ITEMS, n)
    q = np.tanh(factors[target] @ to_query / 2) + 0.15 * rng.standard_normal((n, 24))
    return q.astype("float32"), target


q_train, t_train = make_queries(3000)
q_test, t_test = make_queries(500)


class Tower(keras.Model):
    def __init__(self, dim=16):
        super().__init__()
        self.hidden = layers.Dense(64, activation="relu")
        self.proj = layers.Dense(dim)

    def call(self, x):
        return F.normalize(self.proj(self.hidden(x)), dim=-1)


query_tower, item_tower = Tower(), Tower()
query_tower(torch.zeros(1, 24)), item_tower(torch.zeros(1, 20))
optimizer = torch.optim.Adam(
    list(query_tower.parameters()) + list(item_tower.parameters()), lr=2e-3
)
items_t = torch.from_numpy(items)


def recall_at(k):
    with torch.no_grad():
        scores = query_tower(torch.from_numpy(q_test)) @ item_tower(items_t).T
    top = scores.topk(k, dim=1).indices.numpy()
    return (top == t_test[:, None]).any(1).mean()


print("before training: recall@1", recall_at(1), "recall@5", recall_at(5))
for epoch in range(8):
    order = rng.permutation(len(q_train))
    losses = []
    for i in range(0, len(order) - BATCH + 1, BATCH):
        idx = order[i:i + BATCH]
        wanted = torch.from_numpy(t_train[idx])
        q = query_tower(torch.from_numpy(q_train[idx]))
        v = item_tower(items_t[wanted])
        logits = q @ v.T / TEMPERATURE
        same = wanted[:, None] == wanted[None, :]
        same.fill_diagonal_(False)
        logits = logits.masked_fill(same, -1e9)
        loss = F.cross_entropy(logits, torch.arange(len(idx)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch + 1}  loss {np.mean(losses):.4f}  recall@1 {recall_at(1):.3f}  recall@5 {recall_at(5):.3f}")
