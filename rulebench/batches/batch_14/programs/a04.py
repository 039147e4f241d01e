import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers


def spirals(n, arms, rng, noise=0.12):
    lab = rng.integers(0, arms, n)
    r = rng.uniform(0.1, 1, n)
    a = 4.5 * r + 2 * np.pi * lab / arms
    x = np.stack([r * np.cos(a), r * np.sin(a)], 1) + rng.normal(0, noise * 0.25, (n, 2))
    return x.astype("float32") * 2, lab


class ResBlock(layers.Layer):
    def __init__(self, width, **kw):
        super().__init__(**kw)
        self.norm = layers.LayerNormalization()
        self.d1 = layers.Dense(width, activation="gelu")
        self.d2 = layers.Dense(width)

    def build(self, shape):
        self.norm.build(shape)
        self.d1.build(shape)
        self.d2.build(shape)
        self.built = True

    def call(self, x):
        return x + self.d2(self.d1(self.norm(x)))


def build(arms, width, depth):
    inp = keras.Input((2,))
    x = layers.Dense(width)(inp)
    for _ in range(depth):
        x = ResBlock(width)(x)
    x = layers.LayerNormalization()(x)
    return keras.Model(inp, layers.Dense(arms)(x))


def make_schedule(cfg, n_train):
    steps_per_epoch = n_train // cfg.batch_size
    if cfg.schedule == "constant":
        return cfg.lr
    return keras.optimizers.schedules.CosineDecay(
        initial_learning_rate=cfg.lr,
        decay_steps=cfg.epochs,
        alpha=0.0,
    )


def parse():
    p = argparse.ArgumentParser("spiral classification")
    p.add_argument("--arms", type=int, default=5)
    p.add_argument("--width", type=int, default=48)
    p.add_argument("--depth", type=int, default=2)
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--batch_size", type=int, default=64)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--schedule", choices=["constant", "cosine"], default="cosine")
    p.add_argument("--seed", type=int, default=13)
    return p.parse_args()


def main():
    cfg = parse()
    keras.utils.set_random_seed(cfg.seed)
    rng = np.random.default_rng(cfg.seed)
    x, y = spirals(3200, cfg.arms, rng)
    xt, yt = spirals(800, cfg.arms, rng)

    model = build(cfg.arms, cfg.width, cfg.depth)
    model.compile(
        optimizer=keras.optimizers.AdamW(make_schedule(cfg, len(x)), weight_decay=1e-4),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    model.fit(x, y, epochs=cfg.epochs, batch_size=cfg.batch_size,
              validation_data=(xt, yt), verbose=2)
    print("test:", model.evaluate(xt, yt, verbose=0, return_dict=True))


if __name__ == "__main__":
    main()
