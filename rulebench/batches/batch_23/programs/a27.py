"""Sentence sentiment with a bag of embeddings, Keras layers in a torch loop."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch
import keras
from keras import layers

keras.utils.set_random_seed(16)
rng = np.random.default_rng(16)

VOCAB, LENGTH, EPOCHS = 400, 16, 6
word_score = rng.normal(size=VOCAB)
NEGATION = 1


def sentences(n):
    x = rng.integers(2, VOCAB, (n, LENGTH))
    neg = rng.random(n) < 0.3
    x[neg, rng.integers(0, LENGTH)] = NEGATION
    s = word_score[x].sum(1) * np.where((x == NEGATION).any(1), -1, 1)
    return x.astype("int64"), (s > 0).astype("float32")


X, y = sentences(6000)
X_tr, y_tr, X_va, y_va = X[:5000], y[:5000], X[5000:], y[5000:]


class Sentiment(keras.Model):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = layers.Embedding(VOCAB, dim)
        self.fc1 = layers.Dense(64, activation="relu")
        self.fc2 = layers.Dense(1)

    def call(self, tokens):
        h = self.embed(tokens)
        h = keras.ops.mean(h, axis=1) * 4.0
        return keras.ops.squeeze(self.fc2(self.fc1(h)), -1)


model = Sentiment()
model(torch.from_numpy(X_tr[:2]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loss_fn = torch.nn.BCEWithLogitsLoss()
gen = torch.Generator().manual_seed(16)


def run_epoch():
    perm = torch.randperm(len(X_tr), generator=gen).numpy()
    total = 0.0
    for i in range(0, len(perm), 50):
        ix = perm[i:i + 50]
        logits = model(torch.from_numpy(X_tr[ix]), training=True)
        loss = loss_fn(logits, torch.from_numpy(y_tr[ix]))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(ix)
    return total / len(perm)


def evaluate():
    with torch.no_grad():
        logits = model(torch.from_numpy(X_va), training=False)
        loss = loss_fn(logits, torch.from_numpy(y_va)).item()
        acc = ((logits > 0).numpy() == (y_va > 0.5)).mean()
    return loss, acc


for epoch in range(EPOCHS):
    train_loss = run_epoch()
    val_loss, val_acc = evaluate()
    print(f"epoch {epoch + 1}: train loss {train_loss:.4f}  val loss {val_loss:.4f}  val acc {val_acc:.3f}")
print("share of positive labels:", round(float(y_va.mean()), 3))
