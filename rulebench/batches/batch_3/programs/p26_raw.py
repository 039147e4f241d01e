# raw 0..255 pixels go in, scaling is part of the model. SGD with warm restarts and early stopping.
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers, callbacks
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 15
keras.utils.set_random_seed(SEED)

X, y = load_digits(return_X_y=True)
X = np.round(X.reshape(-1, 8, 8, 1) * 255 / 16).astype("uint8")
Y = keras.utils.to_categorical(y, 10)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=0.25, random_state=SEED, stratify=y)
print("pixel range", X_train.min(), X_train.max(), X_train.dtype)

steps = int(np.ceil(0.85 * len(X_train) / 32))
schedule = keras.optimizers.schedules.CosineDecayRestarts(0.3, first_decay_steps=5 * steps, t_mul=2.0, m_mul=0.8)

model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Rescaling(1.0 / 255),
    layers.Conv2D(16, 3, padding="same", use_bias=False),
    layers.BatchNormalization(),
    layers.Activation("relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", use_bias=False),
    layers.BatchNormalization(),
    layers.Activation("relu"),
    layers.GlobalAveragePooling2D(),
    layers.Dense(10),
])
model.compile(
    optimizer=keras.optimizers.SGD(schedule, momentum=0.9, nesterov=True),
    loss=keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
    metrics=["accuracy"],
)
model.fit(X_train, Y_train, validation_split=0.15, batch_size=32, epochs=35, verbose=2,
          callbacks=[callbacks.EarlyStopping("val_accuracy", mode="max", patience=12,
                                             restore_best_weights=True)])
print("test loss/accuracy:", model.evaluate(X_test, Y_test, verbose=0))
