import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse

import numpy as np
import torch
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()

keras.utils.set_random_seed(args.seed)

X, y = make_classification(
    n_samples=4000, n_features=20, n_informative=12, n_redundant=2,
    n_classes=4, n_clusters_per_class=2, class_sep=1.4, random_state=args.seed,
)
X = X.astype("float32")
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=args.seed)
mu, sd = X_tr.mean(0), X_tr.std(0)
X_tr, X_te = (X_tr - mu) / sd, (X_te - mu) / sd

train_loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.tensor(X_tr), torch.tensor(y_tr)),
    batch_size=args.batch_size, shuffle=True,
)
test_loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.tensor(X_te), torch.tensor(y_te)),
    batch_size=256,
)

model = keras.Sequential([
    keras.Input((20,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(4),
])
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.SGD(learning_rate=args.lr)
train_acc = keras.metrics.SparseCategoricalAccuracy()
test_acc = keras.metrics.SparseCategoricalAccuracy()

for epoch in range(args.epochs):
    losses = []
    for step, (xb, yb) in enumerate(train_loader):
        logits = model(xb, training=True)
        loss = loss_fn(yb, logits)

        # backward pass, then hand the gradients to the Keras optimizer
        loss.backward()
        trainable_weights = [v for v in model.trainable_weights]
        gradients = [v.value.grad for v in trainable_weights]
        with torch.no_grad():
            optimizer.apply(gradients, trainable_weights)

        train_acc.update_state(yb, logits.detach())
        losses.append(loss.item())

    with torch.no_grad():
        for xb, yb in test_loader:
            test_acc.update_state(yb, model(xb, training=False))
    print(
        f"epoch {epoch + 1:2d}  loss {np.mean(losses):.4f}  "
        f"acc {float(train_acc.result()):.4f}  test acc {float(test_acc.result()):.4f}"
    )
    train_acc.reset_state()
    test_acc.reset_state()
