import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(111)
d = load_digits()
p = np.random.permutation(len(d.data))
X, y = d.data[p].astype("float32") / 16, d.target[p]
steps = 1400 // 32 + 1
lr = keras.optimizers.schedules.CosineDecayRestarts(0.1, first_decay_steps=5 * steps, t_mul=2.0, m_mul=0.8)
model = keras.Sequential([layers.Input((64,)), layers.Dense(64, activation="relu"), layers.Dense(10)])
model.compile(keras.optimizers.SGD(lr, momentum=0.9), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=["accuracy"])
model.fit(X[:1400], y[:1400], batch_size=32, epochs=15, validation_data=(X[1400:], y[1400:]), verbose=2)
print("final", model.evaluate(X[1400:], y[1400:], verbose=0))
