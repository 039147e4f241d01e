import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

# sanity check before the long run: can the model memorise a single batch?
keras.utils.set_random_seed(114)
d = load_digits()
idx = np.random.choice(len(d.data), 32, replace=False)
xb = (d.images[idx] / 16.0).astype("float32")[..., None]
yb = d.target[idx]
model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, activation="relu", padding="same"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, activation="relu", padding="same"),
    layers.Flatten(),
    layers.Dense(10, activation="softmax"),
])
model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
for step in range(120):
    loss, acc = model.train_on_batch(xb, yb)
    model.reset_metrics()
    if step % 10 == 0:
        print("step", step, "loss %.4f acc %.3f" % (float(loss), float(acc)))
print("single batch:", model.evaluate(xb, yb, verbose=0))
