# warm restarts + decoupled weight decay 0.1 on jax
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(19)
X, y = load_digits(return_X_y=True)
X = ((X - 8) / 6).astype("float32")
xtr, ytr, xte, yte = X[:1400], y[:1400], X[1400:], y[1400:]
steps = 1400 // 56
lr = keras.optimizers.schedules.CosineDecayRestarts(1e-2, first_decay_steps=4 * steps, t_mul=2.0, m_mul=0.8, alpha=1e-3)


def block(h, units):
    s = h
    h = layers.LayerNormalization()(h)
    h = layers.Dense(units * 2, activation="silu")(h)
    h = layers.Dense(units)(h)
    return layers.Add()([s, h])


inp = layers.Input((64,))
h = layers.Dense(48)(inp)
for _ in range(3):
    h = block(h, 48)
model = keras.Model(inp, layers.Dense(10)(h))
model.compile(keras.optimizers.AdamW(lr, weight_decay=0.1, global_clipnorm=1.0),
              keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])


class Log(keras.callbacks.Callback):
    def on_epoch_end(self, e, logs):
        print("epoch %d loss %.4f acc %.3f val_acc %.3f" % (e, logs["loss"], logs["accuracy"], logs["val_accuracy"]))


model.fit(xtr, ytr, epochs=28, batch_size=56, validation_data=(xte, yte), verbose=0, callbacks=[Log()])
