import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(8)

EPOCHS = 8
BATCH_SIZE = 64

x, y = load_digits(return_X_y=True)
x = (x.reshape(-1, 8, 8, 1) / 16.0).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=8, stratify=y)


def residual_block(h, filters):
    shortcut = h
    if h.shape[-1] != filters:
        shortcut = layers.Conv2D(filters, 1)(h)
    h = layers.Conv2D(filters, 3, padding="same", activation="relu")(h)
    h = layers.Conv2D(filters, 3, padding="same")(h)
    return layers.ReLU()(layers.Add()([h, shortcut]))


inputs = keras.Input((8, 8, 1))
h = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
h = residual_block(h, 8)
h = layers.MaxPooling2D()(h)
h = residual_block(h, 16)
h = layers.GlobalAveragePooling2D()(h)
h = layers.Dropout(0.1)(h)
outputs = layers.Dense(10, activation="softmax")(h)
model = keras.Model(inputs, outputs)

# anneal the learning rate over the whole run
schedule = keras.optimizers.schedules.CosineDecay(
    initial_learning_rate=5e-3,
    decay_steps=EPOCHS,
    alpha=0.01,
)
model.compile(
    optimizer=keras.optimizers.AdamW(learning_rate=schedule, weight_decay=1e-4),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)

history = model.fit(
    x_train, y_train,
    validation_data=(x_test, y_test),
    epochs=EPOCHS,
    batch_size=BATCH_SIZE,
    verbose=2,
)
loss, acc = model.evaluate(x_test, y_test, verbose=0)
print(f"test loss {loss:.4f} accuracy {acc:.4f}")

pred = model.predict(x_test, verbose=0).argmax(1)
for digit in range(10):
    sel = y_test == digit
    print(digit, f"{(pred[sel] == digit).mean():.3f}")
