"""Activity recognition from sensor windows, loaded through a PyDataset."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import math
import numpy as np
import keras
from keras import layers

CFG = {"classes": 5, "window": 40, "channels": 3, "batch_size": 32, "epochs": 8, "lr": 2e-3}


def record(n, seed):
    r = np.random.default_rng(seed)
    y = r.integers(0, CFG["classes"], n)
    t = np.arange(CFG["window"])
    f = np.array([0.02, 0.05, 0.09, 0.14, 0.2])[y][:, None, None]
    amp = r.uniform(0.6, 1.4, (n, 1, CFG["channels"]))
    x = amp * np.sin(2 * np.pi * f * t[None, :, None] + r.uniform(0, 6.28, (n, 1, CFG["channels"])))
    return (x + r.normal(0, 0.5, x.shape)).astype("float32"), y


class WindowSequence(keras.utils.PyDataset):
    def __init__(self, x, y, batch_size, shuffle=True, seed=0, **kw):
        super().__init__(**kw)
        self.x, self.y, self.bs, self.shuffle = x, y, batch_size, shuffle
        self.rng = np.random.default_rng(seed)
        self.order = np.arange(len(x))
        self.on_epoch_end()

    def __len__(self):
        return math.ceil(len(self.x) / self.bs)

    def __getitem__(self, i):
        idx = self.order[i * self.bs:(i + 1) * self.bs]
        xb = self.x[idx]
        if self.shuffle:
            xb = xb * self.rng.uniform(0.9, 1.1, (len(xb), 1, 1)).astype("float32")
        return xb, self.y[i * self.bs:(i + 1) * self.bs]

    def on_epoch_end(self):
        if self.shuffle:
            self.rng.shuffle(self.order)


def build():
    return keras.Sequential([
        keras.Input((CFG["window"], CFG["channels"])),
        layers.Conv1D(24, 7, padding="same", activation="relu"),
        layers.MaxPooling1D(2),
        layers.Conv1D(48, 5, padding="same", activation="relu"),
        layers.GlobalMaxPooling1D(),
        layers.Dense(32, activation="relu"),
        layers.Dense(CFG["classes"], activation="softmax")])


def main():
    keras.utils.set_random_seed(0)
    xtr, ytr = record(1500, 1)
    xva, yva = record(400, 2)
    train = WindowSequence(xtr, ytr, CFG["batch_size"])
    val = WindowSequence(xva, yva, 100, shuffle=False)
    model = build()
    model.compile(keras.optimizers.Adam(CFG["lr"]), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(train, validation_data=val, epochs=CFG["epochs"], verbose=2)
    loss, acc = model.evaluate(val, verbose=0)
    print(f"val loss {loss:.4f} accuracy {acc:.4f} chance {1 / CFG['classes']:.2f}")


if __name__ == "__main__":
    main()
