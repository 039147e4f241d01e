import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers


def scene(n, rng, s=16):
    """disc position (regression) and brightness class, two heads"""
    yy, xx = np.mgrid[:s, :s]
    c = rng.uniform(3, 13, (n, 2))
    k = rng.integers(0, 3, n)
    img = (((xx - c[:, :1, None]) ** 2 + (yy - c[:, 1:, None]) ** 2) < 7) * (0.4 + 0.3 * k)[:, None, None]
    img = img + 0.05 * rng.normal(size=img.shape)
    return img[..., None].astype("float32"), ((c - 8) / 5).astype("float32"), k


def build():
    i = layers.Input((16, 16, 1))
    x = layers.Conv2D(12, 3, activation="relu", padding="same")(i)
    x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(16, 3, activation="relu", padding="same")(x)
    x = layers.MaxPooling2D()(x)
    x = layers.Flatten()(x)
    h = layers.Dense(48, activation="relu")(x)
    pos = layers.Dense(2, name="pos")(h)
    cls = layers.Dense(3, activation="softmax", name="cls")(h)
    return keras.Model(i, {"pos": pos, "cls": cls})


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--w-pos", type=float, default=5.0)
    a = ap.parse_args()
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x, p, k = scene(1500, rng)
    xv, pv, kv = scene(300, rng)
    m = build()
    steps = a.epochs * int(np.ceil(1500 / 32))
    lr = keras.optimizers.schedules.CosineDecay(1e-4, steps - 60, warmup_target=4e-3, warmup_steps=60)
    m.compile(optimizer=keras.optimizers.Adam(lr), loss={"pos": "mse", "cls": "sparse_categorical_crossentropy"},
              loss_weights={"pos": a.w_pos, "cls": 1.0}, metrics={"pos": ["mae"], "cls": ["accuracy"]})
    m.fit(x, {"pos": p, "cls": k}, epochs=a.epochs, batch_size=32, verbose=2,
          validation_data=(xv, {"pos": pv, "cls": kv}))
    out = m.predict(xv, verbose=0)
    print("position error in pixels", np.abs(out["pos"] - pv).mean() * 5, "class accuracy", (out["cls"].argmax(1) == kv).mean())


if __name__ == "__main__":
    main()
