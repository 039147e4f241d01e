"""Classify small RGB textures. The pictures stay uint8 0..255 all the way, the
model itself rescales them (so that the saved model takes raw pictures)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers

SEED = 3
keras.utils.set_random_seed(SEED)
rng = np.random.RandomState(SEED)
NAMES = ["horizontal", "vertical", "checker", "dots"]
SIZE = 16


def make_picture(kind):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    period = rng.choice([4, 6])
    phase = rng.randint(0, period)
    if kind == 0:
        m = ((yy + phase) % period) < period // 2
    elif kind == 1:
        m = ((xx + phase) % period) < period // 2
    elif kind == 2:
        m = (((xx + phase) // 2 + yy // 2) % 2) == 0
    else:
        m = rng.rand(SIZE, SIZE) < 0.3
    fg, bg = rng.randint(0, 256, 3), rng.randint(0, 256, 3)
    pic = np.where(m[..., None], fg, bg) + rng.normal(0, 25, (SIZE, SIZE, 3))
    return np.clip(pic, 0, 255).astype("uint8")


labels = rng.randint(0, 4, 1600)
pictures = np.array([make_picture(k) for k in labels])
x_train, y_train = pictures[:1200], labels[:1200]
x_test, y_test = pictures[1200:], labels[1200:]
print(x_train.dtype, x_train.min(), x_train.max())

model = keras.Sequential([
    keras.Input((SIZE, SIZE, 3)),
    layers.Rescaling(1. / 127.5, offset=-1),
    layers.Conv2D(16, 3, padding="same", use_bias=False),
    layers.BatchNormalization(),
    layers.ReLU(),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", use_bias=False),
    layers.BatchNormalization(),
    layers.ReLU(),
    layers.GlobalAveragePooling2D(),
    layers.Dense(4),
])
model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=0.1, momentum=0.9, nesterov=True),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
drop = keras.callbacks.LearningRateScheduler(lambda e, lr: 0.1 if e < 8 else 0.01)
model.fit(x_train, y_train, epochs=12, batch_size=32, verbose=2,
          validation_data=(x_test, y_test), callbacks=[drop])

pred = model.predict(x_test, verbose=0).argmax(1)
for k, name in enumerate(NAMES):
    print("%-11s %.3f" % (name, np.mean(pred[y_test == k] == k)))
print("test accuracy", np.mean(pred == y_test))
