# Defect detection on small grey camera tiles. Three classes: ok / scratch / hole.
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

SEED = 2
keras.utils.set_random_seed(SEED)
rs = np.random.RandomState(SEED)


def tile(kind):
    img = rs.normal(125, 12, (20, 20))
    if kind == 1:                                    # scratch
        r, c = rs.randint(3, 12), rs.randint(3, 12)
        slope = rs.choice([-1, 0, 1])
        for i in range(8):
            img[(r + i) % 20, (c + slope * i) % 20] += 90
    elif kind == 2:                                  # hole
        r, c = rs.randint(3, 15), rs.randint(3, 15)
        img[r:r + 4, c:c + 4] -= 70
    return np.clip(img, 0, 255).astype("uint8")


labels = rs.randint(0, 3, 2400)
tiles = np.stack([tile(k) for k in labels])[..., None]
print(tiles.dtype, tiles.shape, "pixel range", tiles.min(), tiles.max())


def load(images):
    return images.astype("float32") / 255.0


x_train, x_val = load(tiles[:2000]), load(tiles[2000:])
y_train, y_val = labels[:2000], labels[2000:]


def build():
    inputs = keras.Input((20, 20, 1))
    x = layers.Rescaling(1.0 / 255)(inputs)
    x = layers.Conv2D(12, 3, strides=2, activation="relu", padding="same")(x)
    x = layers.Conv2D(24, 3, strides=2, activation="relu", padding="same")(x)
    x = layers.Flatten()(x)
    x = layers.Dense(32, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(x))


model = build()
model.compile(optimizer=keras.optimizers.Adam(1e-3),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=12, validation_data=(x_val, y_val), verbose=2)
print("validation accuracy:", model.evaluate(x_val, y_val, verbose=0)[1])
