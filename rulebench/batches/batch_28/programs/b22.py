import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score

keras.utils.set_random_seed(1)
x, y = make_friedman1(n_samples=3000, n_features=10, noise=0.8, random_state=1)
x = (x - 0.5).astype("float32") * 3.4
ym, ys = y[:2200].mean(), y[:2200].std()
y = ((y - ym) / ys).astype("float32")
x_train, y_train, x_test, y_test = x[:2200], y[:2200], x[2200:], y[2200:]

EPOCHS, BATCH = 30, 32
# halve the learning rate every 6 epochs
schedule = keras.optimizers.schedules.ExponentialDecay(
    initial_learning_rate=2e-3, decay_steps=6, decay_rate=0.5, staircase=True)

inputs = keras.Input((10,))
h = keras.layers.Dense(64, activation="relu")(inputs)
h = keras.layers.Dense(64, activation="relu")(h)
outputs = keras.layers.Dense(1)(h)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(learning_rate=schedule), loss="mse", metrics=["mae"])
hist = model.fit(x_train, y_train, epochs=EPOCHS, batch_size=BATCH, validation_data=(x_test, y_test), verbose=0)
for e in range(0, EPOCHS, 5):
    print(f"epoch {e:2d} loss {hist.history['loss'][e]:.4f} val_loss {hist.history['val_loss'][e]:.4f}")
print("R2 on the test part: %.4f" % r2_score(y_test, model.predict(x_test, verbose=0)[:, 0]))
