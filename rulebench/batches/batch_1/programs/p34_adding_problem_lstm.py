# The "adding problem" (Hochreiter & Schmidhuber), short version, keras 3 + torch
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(17)
rng = np.random.default_rng(17)
T = 12


def adding(n):
    vals = rng.uniform(0, 1, (n, T))
    marks = np.zeros((n, T))
    for r in marks:
        r[rng.choice(T, 2, replace=False)] = 1
    target = (vals * marks).sum(1, keepdims=True)
    return np.stack([vals, marks], -1).astype("float32"), target.astype("float32")


x, y = adding(4000)
xv, yv = adding(500)

model = keras.Sequential([
    layers.Input((T, 2)),
    layers.LSTM(24, unit_forget_bias=True),
    layers.Dense(1),
])
# clip, because rnn gradients explode
opt = keras.optimizers.SGD(learning_rate=0.05, momentum=0.9, nesterov=True, clipnorm=1e-3)
model.compile(opt, loss="mse", metrics=["mae"])
hist = model.fit(x, y, validation_data=(xv, yv), epochs=10, batch_size=50, verbose=2)
print("variance of target", yv.var(), "| final val mse", hist.history["val_loss"][-1])
