"""Prototypical networks: 5-way 3-shot episodes on random glyph families."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import argparse
import numpy as np
import torch
import keras
from keras import layers


class GlyphWorld:
    def __init__(self, n_classes, dim, rng):
        basis = rng.normal(size=(8, dim))
        self.centres = np.tanh(rng.normal(size=(n_classes, 8)) @ basis / 2)
        self.rng = rng

    def episode(self, classes, way, shot, query):
        picked = self.rng.choice(classes, way, replace=False)
        c = np.repeat(self.centres[picked][:, None], shot + query, axis=1)
        x = (c + self.rng.normal(0, 0.9, c.shape)).astype("float32")
        return torch.as_tensor(x[:, :shot]), torch.as_tensor(x[:, shot:])


def encoder(dim, out):
    return keras.Sequential([
        keras.Input((dim,)),
        layers.Dense(64, activation="relu"),
        layers.LayerNormalization(),
        layers.Dense(out),
    ])


def episode_logits(net, support, query):
    way, shot, dim = support.shape
    protos = net(support.reshape(-1, dim)).reshape(way, shot, -1).mean(1)
    q = net(query.reshape(-1, dim))
    return -torch.cdist(q, protos) ** 2


def accuracy(net, world, classes, way, shot, n=40):
    hits = []
    for _ in range(n):
        s, q = world.episode(classes, way, shot, 10)
        with torch.no_grad():
            pred = episode_logits(net, s, q).argmax(1)
        hits.append((pred == torch.arange(way).repeat_interleave(10)).float().mean().item())
    return float(np.mean(hits))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--episodes", type=int, default=400)
    ap.add_argument("--way", type=int, default=5)
    ap.add_argument("--shot", type=int, default=3)
    args = ap.parse_args()
    keras.utils.set_random_seed(8)
    rng = np.random.default_rng(8)
    world = GlyphWorld(80, 40, rng)
    base, novel = np.arange(60), np.arange(60, 80)

    net = encoder(40, 16)
    opt = keras.optimizers.Adam(1e-3)
    target = torch.arange(args.way).repeat_interleave(10)
    print("novel classes before training: %.3f" % accuracy(net, world, novel, args.way, args.shot))
    for ep in range(1, args.episodes + 1):
        s, q = world.episode(base, args.way, args.shot, 10)
        net.zero_grad()
        loss = torch.nn.functional.cross_entropy(episode_logits(net, s, q), target)
        loss.backward()
        with torch.no_grad():
            opt.apply([w.value.grad for w in net.trainable_weights], net.trainable_weights)
        if ep % 50 == 0:
            print(f"episode {ep}  loss {loss.item():.4f}")
    print("novel classes after training: %.3f" % accuracy(net, world, novel, args.way, args.shot))


if __name__ == "__main__":
    main()
