import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

# SGD with warm restarts; accuracy drops a little after each restart
d = load_digits()
rng = np.random.default_rng(90)
p = rng.permutation(len(d.data))
X, y = (d.images[p][..., None] / 16.0).astype("float32"), d.target[p]
keras.utils.set_random_seed(90)
steps = 1400 // 28
lr = keras.optimizers.schedules.CosineDecayRestarts(0.1, first_decay_steps=5 * steps, t_mul=2.0, m_mul=0.8)
model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.Conv2D(16, 3, activation="relu"),
    layers.Flatten(),
    layers.Dense(10, activation="softmax"),
])
model.compile(keras.optimizers.SGD(lr, momentum=0.8), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X[:1400], y[:1400], batch_size=28, epochs=15, validation_data=(X[1400:], y[1400:]), verbose=2)
