# handwritten digits CNN with my own little image generator
# (ImageDataGenerator is deprecated so I wrote the augmentation myself)
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import keras
from keras.models import Sequential
from keras.layers import Input, Conv2D, MaxPooling2D, Flatten, Dense, Dropout
from keras.utils import to_categorical
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 7
np.random.seed(SEED)
keras.utils.set_random_seed(SEED)

batch_size = 32
num_classes = 10
epochs = 12

digits = load_digits()
X = digits.images.astype("float32") / 16.0
X = X.reshape(-1, 8, 8, 1)
y = to_categorical(digits.target, num_classes)

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=SEED)
print("X_train shape:", X_train.shape)
print(X_train.shape[0], "train samples")
print(X_test.shape[0], "test samples")


def augment(img):
    """shift by up to one pixel and add a bit of noise"""
    dx, dy = np.random.randint(-1, 2, size=2)
    out = np.zeros_like(img)
    src = img[max(0, -dy):8 - max(0, dy), max(0, -dx):8 - max(0, dx)]
    out[max(0, dy):8 - max(0, -dy), max(0, dx):8 - max(0, -dx)] = src
    return out + np.random.normal(0, 0.02, img.shape).astype("float32")


def image_generator(images, labels, batch_size):
    images = images.copy()
    labels = labels.copy()
    while True:
        # new order in every epoch
        np.random.shuffle(images)
        np.random.shuffle(labels)
        for start in range(0, len(images) - batch_size + 1, batch_size):
            xb = np.stack([augment(im) for im in images[start:start + batch_size]])
            yb = labels[start:start + batch_size]
            yield xb, yb


model = Sequential([
    Input((8, 8, 1)),
    Conv2D(16, (3, 3), padding="same", activation="relu"),
    Conv2D(32, (3, 3), padding="same", activation="relu"),
    MaxPooling2D((2, 2)),
    Flatten(),
    Dense(64, activation="relu"),
    Dropout(0.25),
    Dense(num_classes, activation="softmax"),
])
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])

model.fit(image_generator(X_train, y_train, batch_size),
          steps_per_epoch=len(X_train) // batch_size,
          epochs=epochs,
          validation_data=(X_test, y_test),
          verbose=2)

score = model.evaluate(X_test, y_test, verbose=0)
print("Test loss:", score[0])
print("Test accuracy:", score[1])
