import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import torch
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(14)

MICRO_BATCH = 8
ACCUM = 4
EPOCHS = 6

digits = load_digits()
X = (digits.data / 16.0).astype("float32")
X_tr, X_te, y_tr, y_te = train_test_split(X, digits.target, test_size=0.2, random_state=14)

model = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(10),
])
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
dataset = torch.utils.data.TensorDataset(torch.tensor(X_tr), torch.tensor(y_tr))
loader = torch.utils.data.DataLoader(dataset, batch_size=MICRO_BATCH, shuffle=True, drop_last=True)

updates = 0
for epoch in range(EPOCHS):
    total, seen = 0.0, 0
    optimizer.zero_grad()
    for i, (xb, yb) in enumerate(loader, start=1):
        logits = model(xb, training=True)
        loss = criterion(logits, yb)
        (loss / ACCUM).backward()
        total += loss.item() * len(xb)
        seen += len(xb)
        if i % ACCUM == 0 or i == len(loader):
            optimizer.step()
            optimizer.zero_grad()
            updates += 1
    with torch.no_grad():
        pred = model(torch.tensor(X_te), training=False).argmax(1).cpu()
    acc = (pred == torch.tensor(y_te)).float().mean().item()
    print(f"epoch {epoch + 1} loss {total / seen:.4f} test acc {acc:.4f} updates {updates}")
