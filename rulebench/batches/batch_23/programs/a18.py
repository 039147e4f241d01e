"""BYOL-style pretraining on digits, then a linear readout (torch backend)."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(4)

STEPS, BATCH, TAU = 260, 64, 0.97
digits = load_digits()
X = torch.tensor((digits.images / 16.0).astype("float32"))[..., None]
y = digits.target
perm = np.random.default_rng(4).permutation(len(X))
train, test = perm[:1400], perm[1400:]


def encoder():
    return keras.Sequential([
        keras.Input((8, 8, 1)),
        layers.Conv2D(24, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(48, 3, padding="same", activation="relu"),
        layers.Flatten(),
        layers.Dense(64),
    ])


def head(out=32):
    return keras.Sequential([
        keras.Input((64,)),
        layers.Dense(96),
        layers.BatchNormalization(),
        layers.Activation("relu"),
        layers.Dense(out),
    ])


online, projector = encoder(), head()
predictor = keras.Sequential([keras.Input((32,)), layers.Dense(64), layers.BatchNormalization(),
                              layers.Activation("relu"), layers.Dense(32)])
target, target_projector = encoder(), head()
target.set_weights(online.get_weights())
target_projector.set_weights(projector.get_weights())


def augment(x):
    dx, dy = np.random.randint(-1, 2, 2)
    x = torch.roll(x, (int(dx), int(dy)), dims=(1, 2))
    scale = 0.7 + 0.6 * torch.rand(len(x), 1, 1, 1)
    return (x * scale + 0.1 * torch.randn_like(x)).clamp(0, 1.5)


def cosine_loss(p, z):
    p = torch.nn.functional.normalize(p, dim=-1)
    z = torch.nn.functional.normalize(z, dim=-1)
    return 2 - 2 * (p * z).sum(-1).mean()


params = list(online.parameters()) + list(projector.parameters()) + list(predictor.parameters())
params = [p for p in params if p.requires_grad]
opt = torch.optim.Adam(params, lr=2e-3, weight_decay=1e-5)
g = torch.Generator().manual_seed(4)
pool = X[train]

for step in range(1, STEPS + 1):
    xb = pool[torch.randint(0, len(pool), (BATCH,), generator=g)]
    v1, v2 = augment(xb), augment(xb)
    p1 = predictor(projector(online(v1), training=True), training=True)
    p2 = predictor(projector(online(v2), training=True), training=True)
    with torch.no_grad():
        z1 = target_projector(target(v1), training=True)
        z2 = target_projector(target(v2), training=True)
    loss = 0.5 * (cosine_loss(p1, z2) + cosine_loss(p2, z1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for src, dst in ((online, target), (projector, target_projector)):
            for a, b in zip(src.trainable_variables, dst.trainable_variables):
                b.value.mul_(TAU).add_(a.value, alpha=1 - TAU)
    if step % 20 == 0:
        print(f"step {step:4d}  loss {loss.item():.4f}")


def features(ix):
    with torch.no_grad():
        return online(X[ix], training=False).numpy()


few = train[:200]
clf = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(features(few), y[few])
print("feature std:", round(float(features(test).std(0).mean()), 4))
print("linear readout accuracy with 200 labels:", round(clf.score(features(test), y[test]), 4))
