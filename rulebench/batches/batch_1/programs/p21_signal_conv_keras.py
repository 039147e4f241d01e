# One-step-ahead model of a noisy two-tone signal, dilated causal convs (WaveNet-ish)
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import math
import numpy as np
import keras
from keras import layers, callbacks

keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)
t = np.arange(9000)
sig = np.sin(0.21 * t) * (1 + 0.4 * np.sin(0.013 * t)) + 0.6 * np.sin(0.57 * t + 2 * np.sin(0.02 * t)) + 0.01 * rng.normal(size=t.size)
sig = ((sig - sig.mean()) / sig.std()).astype("float32")
W = 32
win = np.lib.stride_tricks.sliding_window_view(sig, W + 1)
X, Y = win[:, :-1, None], win[:, -1:]
ntr = 7000
Xtr, Ytr, Xva, Yva = X[:ntr], Y[:ntr], X[ntr + W:], Y[ntr + W:]

inp = layers.Input((W, 1))
h = inp
for dil in (1, 2, 4, 8):
    h = layers.Conv1D(16, 2, dilation_rate=dil, padding="causal", activation="tanh")(h)
h = layers.Lambda(lambda z: z[:, -1])(h)
out = layers.Dense(1)(h)
model = keras.Model(inp, out)
model.compile(keras.optimizers.SGD(0.01, momentum=0.8), loss="mse")

DECAY = 0.9


def schedule(epoch, lr):
    # exponential decay
    return float(lr * DECAY ** epoch)


class Report(callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch + 1:02d} loss {logs['loss']:.5f} val {logs['val_loss']:.5f}")


model.fit(Xtr, Ytr, epochs=18, batch_size=64, validation_data=(Xva, Yva), verbose=0,
          callbacks=[callbacks.LearningRateScheduler(schedule), Report()])
print("val rmse", math.sqrt(model.evaluate(Xva, Yva, verbose=0)))
