import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

# planar RGB from an old archive
keras.utils.set_random_seed(50)
rng = np.random.default_rng(50)
n, s = 1800, 16
y = rng.integers(0, 3, n)
planar = rng.integers(0, 120, (n, 3, s, s)).astype("uint8")
for i in range(n):
    r, c = rng.integers(0, s - 6, 2)
    if y[i] == 0:
        planar[i, 0, r:r + 6, c:c + 2] = 230
    elif y[i] == 1:
        planar[i, 1, r:r + 2, c:c + 6] = 230
    else:
        planar[i, 2, r:r + 4, c:c + 4] = 230
x = np.moveaxis(planar, 1, -1)

model = keras.Sequential([
    keras.Input((s, s, 3)),
    layers.Rescaling(1 / 127.5, offset=-1),
    layers.Conv2D(16, 3, use_bias=False),
    layers.BatchNormalization(),
    layers.ReLU(),
    layers.MaxPooling2D(),
    layers.Conv2D(24, 3, use_bias=False),
    layers.BatchNormalization(),
    layers.ReLU(),
    layers.GlobalAveragePooling2D(),
    layers.Dense(3),
])
model.compile(keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
              keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(x[:1500], y[:1500], batch_size=50, epochs=10, validation_data=(x[1500:], y[1500:]), verbose=2)
