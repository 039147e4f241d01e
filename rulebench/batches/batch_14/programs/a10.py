"""Metric learning with class proxies; retrieval is evaluated on classes never seen in training."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import torch
import keras
from keras import layers, ops


def gaussians(n_classes, per_class, rng, A):
    means = rng.normal(size=(n_classes, 8)) * 1.3
    y = np.repeat(np.arange(n_classes), per_class)
    z = means[y] + rng.normal(size=(len(y), 8)) * 0.5
    nuisance = rng.normal(size=(len(y), 8)) * 3
    x = np.tanh(np.concatenate([z, nuisance], 1) @ A * 0.4)
    return x.astype("float32"), y


class Normalize(layers.Layer):
    def call(self, x):
        return x / ops.maximum(ops.norm(x, axis=-1, keepdims=True), 1e-6)

    def compute_output_shape(self, s):
        return s


class ProxyHead(layers.Layer):
    def __init__(self, n, scale=12.0, margin=0.1):
        super().__init__()
        self.n, self.scale, self.margin = n, scale, margin

    def build(self, shape):
        self.proxies = self.add_weight(shape=(self.n, shape[-1]), initializer="random_normal", name="proxies")

    def call(self, emb, y=None):
        p = self.proxies / ops.norm(self.proxies, axis=-1, keepdims=True)
        cos = emb @ ops.transpose(p)
        if y is not None:
            cos = cos - self.margin * ops.one_hot(y, self.n)
        return self.scale * cos


def recall_at_1(emb, y):
    sim = emb @ emb.T
    np.fill_diagonal(sim, -np.inf)
    return float(np.mean(y[sim.argmax(1)] == y))


def train(args):
    keras.utils.set_random_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    A = rng.normal(size=(16, 40))
    x, y = gaussians(30, 40, rng, A)
    xt, yt = gaussians(15, 40, rng, A)

    net = keras.Sequential([keras.Input((40,)), layers.Dense(128, activation="relu"),
                            layers.Dense(args.dim), Normalize()])
    head = ProxyHead(30)
    head.build((None, args.dim))
    opt_net = keras.optimizers.Adam(1e-3)
    opt_proxy = keras.optimizers.Adam(1e-2)
    print("raw features, unseen classes: recall@1 %.3f" %
          recall_at_1(xt / np.linalg.norm(xt, axis=1, keepdims=True), yt))
    wn, wp = net.trainable_variables, head.trainable_variables
    for epoch in range(args.epochs):
        order = rng.permutation(len(x))
        total = 0.0
        for k in range(0, len(x), args.batch):
            idx = order[k:k + args.batch]
            yb = torch.as_tensor(y[idx])
            logits = head(net(torch.as_tensor(x[idx]), training=True), yb)
            loss = ops.mean(keras.losses.sparse_categorical_crossentropy(yb, logits, from_logits=True))
            for v in wn + wp:
                v.value.grad = None
            loss.backward()
            with torch.no_grad():
                opt_net.apply([v.value.grad for v in wn], wn)
                opt_proxy.apply([v.value.grad for v in wp], wp)
            total += loss.item() * len(idx)
        if epoch % 5 == 4:
            emb = net.predict(xt, verbose=0)
            print(f"epoch {epoch + 1} loss {total / len(x):.4f} unseen recall@1 {recall_at_1(emb, yt):.3f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=25)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--dim", type=int, default=12)
    p.add_argument("--seed", type=int, default=0)
    train(p.parse_args())
