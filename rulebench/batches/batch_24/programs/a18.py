import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(4)

# Cell 1: data
digits = load_digits()
x = (digits.images / 16.0).astype("float32")[..., None]
y = keras.utils.to_categorical(digits.target, 10)
x_train, x_test, y_train, y_test = train_test_split(
    x, y, test_size=0.2, stratify=digits.target, random_state=42)
x_train, x_val, y_train, y_val = train_test_split(
    x_train, y_train, test_size=0.15, stratify=y_train.argmax(1), random_state=42)
print(x_train.shape, x_val.shape, x_test.shape)

# Cell 2: model
model = keras.Sequential(name="digit_net")
model.add(keras.Input((8, 8, 1)))
model.add(layers.GaussianNoise(0.1))
model.add(layers.Conv2D(16, 3, padding="same", use_bias=False))
model.add(layers.BatchNormalization(momentum=0.9))
model.add(layers.ReLU())
model.add(layers.Conv2D(32, 3, padding="same", use_bias=False))
model.add(layers.BatchNormalization(momentum=0.9))
model.add(layers.ReLU())
model.add(layers.MaxPooling2D())
model.add(layers.Flatten())
model.add(layers.Dropout(0.3))
model.add(layers.Dense(10, activation="softmax"))
model.summary()

# Cell 3: training
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss=keras.losses.CategoricalCrossentropy(label_smoothing=0.1),
    metrics=["accuracy"],
)
callbacks = [
    keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=2, verbose=1),
    keras.callbacks.EarlyStopping(monitor="val_loss", patience=5, restore_best_weights=True),
]
history = model.fit(x_train, y_train, validation_data=(x_val, y_val),
                    batch_size=32, epochs=9, callbacks=callbacks, verbose=2)

# Cell 4: results
loss, acc = model.evaluate(x_test, y_test, verbose=0)
print(f"test loss {loss:.3f}, accuracy {acc:.3f}")
pred = model.predict(x_test, verbose=0).argmax(1)
print(confusion_matrix(y_test.argmax(1), pred))
