import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

seed = 14
keras.utils.set_random_seed(seed)

x, y = load_digits(return_X_y=True)
x = (x / 16.0).reshape(-1, 8, 8, 1).astype("float32")
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.3, random_state=seed, stratify=y)


class MixupSequence(keras.utils.PyDataset):
    """mixup (Zhang et al.) with alpha=1 and a little label smoothing"""

    def __init__(self, x, y, batch_size=32, alpha=1.0, smooth=0.1, seed=0, **kw):
        super().__init__(**kw)
        self.x, self.y = x, np.eye(10, dtype="float32")[y] * (1 - smooth) + smooth / 10
        self.bs, self.alpha = batch_size, alpha
        self.rng = np.random.default_rng(seed)
        self.on_epoch_end()

    def __len__(self):
        return len(self.x) // self.bs

    def on_epoch_end(self):
        self.order = self.rng.permutation(len(self.x))

    def __getitem__(self, i):
        a = self.order[i * self.bs:(i + 1) * self.bs]
        b = self.rng.permutation(a)
        lam = self.rng.beta(self.alpha, self.alpha, size=len(a)).astype("float32")
        lx, ly = lam[:, None, None, None], lam[:, None]
        return lx * self.x[a] + (1 - lx) * self.x[b], ly * self.y[a] + (1 - ly) * self.y[b]


model = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dropout(0.4),
    layers.Dense(64, activation="relu"),
    layers.Dropout(0.4),
    layers.Dense(10),
])
steps = len(x_train) // 32
lr = keras.optimizers.schedules.CosineDecay(0.0, steps * 14, warmup_target=2e-3, warmup_steps=steps)
model.compile(keras.optimizers.AdamW(lr, weight_decay=1e-4),
              loss=keras.losses.CategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(MixupSequence(x_train, y_train, seed=seed), epochs=15,
          validation_data=(x_val, np.eye(10, dtype="float32")[y_val]), verbose=2)
print("val accuracy", model.evaluate(x_val, np.eye(10, dtype="float32")[y_val], verbose=0)[1])
