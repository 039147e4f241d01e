import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import roc_auc_score

keras.utils.set_random_seed(25)
rng = np.random.default_rng(25)


def normal_signal(n):
    t = np.linspace(0, 1, 32)[None]
    f = rng.uniform(1, 3, (n, 1))
    ph = rng.uniform(0, 2 * np.pi, (n, 1))
    return (np.sin(2 * np.pi * f * t + ph) + 0.05 * rng.normal(size=(n, 32))).astype("float32")


def broken_signal(n):
    x = normal_signal(n)
    start = rng.integers(4, 22, n)
    for i, s in enumerate(start):
        x[i, s:s + 6] += rng.choice([-1, 1]) * rng.uniform(0.6, 1.2)
    return x


train, val = normal_signal(3000), normal_signal(400)
test = np.concatenate([normal_signal(300), broken_signal(300)])
label = np.r_[np.zeros(300), np.ones(300)]


@keras.saving.register_keras_serializable()
class Triangular(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, low, high, half):
        self.low, self.high, self.half = low, high, half

    def __call__(self, step):
        s = keras.ops.cast(step, "float32")
        cycle = keras.ops.floor(1 + s / (2 * self.half))
        pos = keras.ops.abs(s / self.half - 2 * cycle + 1)
        return self.low + (self.high - self.low) * keras.ops.maximum(0.0, 1 - pos) / (2.0 ** (cycle - 1))

    def get_config(self):
        return dict(low=self.low, high=self.high, half=self.half)


ae = keras.Sequential([
    keras.Input((32,)),
    layers.GaussianNoise(0.1),
    layers.Dense(48, activation="gelu"),
    layers.Dense(4),
    layers.Dense(48, activation="gelu"),
    layers.Dense(32),
])
ae.compile(keras.optimizers.Adam(Triangular(2e-4, 1e-2, 141)), loss="mse")
ae.fit(train, train, epochs=24, batch_size=64, validation_data=(val, val), verbose=2)
score = np.mean((ae.predict(test, verbose=0) - test) ** 2, axis=1)
print("detection AUC %.4f" % roc_auc_score(label, score))
