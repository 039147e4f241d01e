"""Curriculum: learn to denoise sums of sines, noise level raised stage by stage.
A callback keeps an exponential average of the weights for the final model."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(210)
rng = np.random.default_rng(210)
T = 48


def waves(n, noise):
    t = np.arange(T) / T
    f = rng.integers(1, 5, (n, 1))
    ph = rng.uniform(0, 2 * np.pi, (n, 1))
    clean = np.sin(2 * np.pi * f * t + ph)
    return (clean + noise * rng.normal(size=(n, T)))[..., None].astype("float32"), clean[..., None].astype("float32")


model = keras.Sequential([keras.Input((T, 1)),
                          layers.Conv1D(16, 9, padding="same", activation="gelu"),
                          layers.Conv1D(16, 9, padding="same", activation="gelu"),
                          layers.Conv1D(1, 9, padding="same")])
model.compile(keras.optimizers.Adam(2e-3), "mse")


class Average(keras.callbacks.Callback):
    shadow = None

    def on_epoch_end(self, epoch, logs=None):
        w = self.model.get_weights()
        self.shadow = w if self.shadow is None else [0.6 * a + 0.4 * b for a, b in zip(self.shadow, w)]


average = Average()
xv, yv = waves(300, 0.8)
print("noise power to remove at the end:", float(((xv - yv) ** 2).mean()))
for noise in (0.1, 0.3, 0.5, 0.8):
    x, y = waves(1200, noise)
    h = model.fit(x, y, epochs=5, batch_size=40, verbose=0, callbacks=[average])  # loss goes up between the stages, harder data
    print(f"noise {noise}: loss {h.history['loss'][0]:.4f} -> {h.history['loss'][-1]:.4f}   "
          f"val at 0.8: {model.evaluate(xv, yv, verbose=0):.4f}")
model.set_weights(average.shadow)
print("with averaged weights:", model.evaluate(xv, yv, verbose=0))
