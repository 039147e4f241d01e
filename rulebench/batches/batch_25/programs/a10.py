import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(12)

# ---- 1. load the images, blow them up to 16x16 uint8 like the "real" camera pictures
digits = load_digits()
imgs = (digits.images * 15.9).astype("uint8")
imgs = imgs.repeat(2, axis=1).repeat(2, axis=2)[..., None]
labels = digits.target

x_train, x_test, y_train, y_test = train_test_split(imgs, labels, test_size=0.25, random_state=12)

# ---- 2. scale to 0..1
x_train = x_train.astype("float32") / 255.0
x_test = x_test.astype("float32") / 255.0
print("train:", x_train.shape, "test:", x_test.shape)

# ---- 3. the network from the camera project
model = keras.Sequential([
    keras.Input(shape=(16, 16, 1)),
    layers.Rescaling(1.0 / 255),
    layers.Conv2D(12, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(24, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(48, activation="relu"),
    layers.Dense(10, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.SGD(0.02, momentum=0.9),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.summary()

# ---- 4. train
hist = model.fit(x_train, y_train, batch_size=32, epochs=12, validation_split=0.1, verbose=2)

# ---- 5. result
loss, acc = model.evaluate(x_test, y_test, verbose=0)
print("test loss %.4f, test accuracy %.4f" % (loss, acc))
