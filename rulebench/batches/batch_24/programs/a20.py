"""Text-ish sequence tagging with a small conv net. Keras layers, torch loop."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import torch
import keras
from keras import layers

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=8)
ap.add_argument("--lr", type=float, default=0.1)
ap.add_argument("--batch-size", type=int, default=32)
args = ap.parse_args()

keras.utils.set_random_seed(2)
VOCAB, LENGTH, TAGS = 40, 20, 3


def make(n, rng):
    x = rng.integers(1, VOCAB, (n, LENGTH))
    y = np.zeros((n, LENGTH), "int64")
    # tag 1: token preceded by an opener (< 6); tag 2: even token followed by a closer (> 33)
    y[:, 1:][x[:, :-1] < 6] = 1
    nxt = np.zeros_like(x, dtype=bool)
    nxt[:, :-1] = x[:, 1:] > 33
    y[nxt & (x % 2 == 0) & (y == 0)] = 2
    return x, y


rng = np.random.default_rng(0)
x_train, y_train = make(1500, rng)
x_test, y_test = make(400, rng)
train_set = torch.utils.data.TensorDataset(torch.tensor(x_train), torch.tensor(y_train))
loader = torch.utils.data.DataLoader(train_set, batch_size=args.batch_size, shuffle=True)

model = keras.Sequential([
    keras.Input((LENGTH,), dtype="int32"),
    layers.Embedding(VOCAB, 16),
    layers.Conv1D(48, 3, padding="same", activation="relu"),
    layers.Conv1D(48, 3, padding="same", activation="relu"),
    layers.Dense(TAGS),
])
optimizer = keras.optimizers.SGD(learning_rate=args.lr, momentum=0.9)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
acc_metric = keras.metrics.SparseCategoricalAccuracy()

for epoch in range(args.epochs):
    acc_metric.reset_state()
    total = 0.0
    for step, (xb, yb) in enumerate(loader):
        logits = model(xb, training=True)
        loss = loss_fn(yb, logits)
        loss.backward()

        trainable_weights = [v for v in model.trainable_weights]
        gradients = [v.value.grad for v in trainable_weights]
        with torch.no_grad():
            optimizer.apply(gradients, trainable_weights)

        acc_metric.update_state(yb, logits.detach())
        total += float(loss)
    print(f"epoch {epoch + 1}: loss {total / (step + 1):.4f} acc {float(acc_metric.result()):.4f}")

with torch.no_grad():
    pred = model(torch.tensor(x_test)).argmax(-1).cpu().numpy()
print("test token accuracy", np.mean(pred == y_test))
for t in range(TAGS):
    tp = np.sum((pred == t) & (y_test == t))
    f1 = 2 * tp / max(1, np.sum(pred == t) + np.sum(y_test == t))
    print(f"tag {t}: f1 {f1:.3f}")
print("majority baseline", np.mean(y_test == 0))
