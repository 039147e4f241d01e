import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(101)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
p = np.random.permutation(len(x))
x, y = x[p], d.target[p]

EPOCHS, BS, N = 14, 64, 1400
schedule = keras.optimizers.schedules.CosineDecayRestarts(
    initial_learning_rate=4e-3, first_decay_steps=2 * (N // BS + 1), t_mul=2.0, m_mul=0.9)
model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", use_bias=False),
    layers.BatchNormalization(momentum=0.9),
    layers.ReLU(),
    layers.MaxPooling2D(),
    layers.Conv2D(24, 3, padding="same", activation="relu"),
    layers.Flatten(),
    layers.Dense(10),
])
model.compile(keras.optimizers.AdamW(schedule, weight_decay=1e-3),
              keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(x[:N], y[:N], batch_size=BS, epochs=EPOCHS, validation_data=(x[N:], y[N:]), verbose=2)
print("test", model.evaluate(x[N:], y[N:], verbose=0))
