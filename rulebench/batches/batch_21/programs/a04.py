import os
os.environ["KERAS_BACKEND"] = "torch"

import argparse

import numpy as np
import torch
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

parser = argparse.ArgumentParser()
parser.add_argument("--micro-batch", type=int, default=16)
parser.add_argument("--accumulate", type=int, default=4)
parser.add_argument("--epochs", type=int, default=8)
parser.add_argument("--lr", type=float, default=4e-3)
args = parser.parse_args()

keras.utils.set_random_seed(31)

x, y = load_digits(return_X_y=True)
x = (x / 16.0).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=31, stratify=y)

model = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(10),
])
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
loss_fn = torch.nn.CrossEntropyLoss()

dataset = torch.utils.data.TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train))
loader = torch.utils.data.DataLoader(dataset, batch_size=args.micro_batch, shuffle=True, drop_last=True)
per_epoch = (len(loader) // args.accumulate)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * per_epoch)

for epoch in range(args.epochs):
    running, updates = 0.0, 0
    optimizer.zero_grad()
    for i, (xb, yb) in enumerate(loader):
        if i >= per_epoch * args.accumulate:
            break
        loss = loss_fn(model(xb, training=True), yb)
        (loss / args.accumulate).backward()
        running += loss.item()
        if (i + 1) % args.accumulate == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            updates += 1
    with torch.no_grad():
        pred = model(torch.from_numpy(x_test), training=False).argmax(1).numpy()
    print(f"epoch {epoch + 1}  updates {updates}  loss {running / (updates * args.accumulate):.4f}  "
          f"test acc {(pred == y_test).mean():.4f}")
