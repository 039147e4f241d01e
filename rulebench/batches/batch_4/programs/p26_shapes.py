# CNN on my shapes data set (circle, square, triangle, cross, ring)
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras.models import Sequential
from keras.layers import Input, Conv2D, MaxPooling2D, Flatten, Dense
from keras.utils import to_categorical

SEED = 50
keras.utils.set_random_seed(SEED)
rng = np.random.RandomState(SEED)

CATEGORIES = ["circle", "square", "triangle", "cross", "ring"]
IMG_SIZE = 16


def draw(category):
    y, x = np.mgrid[0:IMG_SIZE, 0:IMG_SIZE]
    cx, cy, r = rng.uniform(6, 9), rng.uniform(6, 9), rng.uniform(3.5, 5.5)
    dx, dy = x - cx, y - cy
    dist = np.sqrt(dx ** 2 + dy ** 2)
    if category == "circle":
        img = dist < r
    elif category == "square":
        img = (abs(dx) < r * 0.9) & (abs(dy) < r * 0.9)
    elif category == "triangle":
        img = (dy < r * 0.8) & (dy > 2 * abs(dx) - r)
    elif category == "cross":
        img = ((abs(dx) < 1.2) | (abs(dy) < 1.2)) & (dist < r + 0.5)
    else:
        img = abs(dist - r) < 1.0
    return np.clip(img * rng.uniform(120, 255) + rng.normal(20, 20, img.shape), 0, 255)


def load_folder(n_per_class):
    """read the pictures folder by folder"""
    images, labels = [], []
    for class_num, category in enumerate(CATEGORIES):
        for _ in range(n_per_class):
            images.append(draw(category))
            labels.append(class_num)
    X = np.array(images).reshape(-1, IMG_SIZE, IMG_SIZE, 1).astype("float32")
    return X / 255.0, np.array(labels)


X, y = load_folder(200)
X_test, y_test = load_folder(60)

model = Sequential([
    Input((IMG_SIZE, IMG_SIZE, 1)),
    Conv2D(16, (3, 3), activation="relu"),
    MaxPooling2D((2, 2)),
    Conv2D(32, (3, 3), activation="relu"),
    MaxPooling2D((2, 2)),
    Flatten(),
    Dense(32, activation="relu"),
    Dense(len(CATEGORIES), activation="softmax"),
])
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(X, to_categorical(y, 5), batch_size=32, epochs=10, validation_split=0.2, verbose=2)

pred = model.predict(X_test, batch_size=100, verbose=0).argmax(axis=1)
for k, c in enumerate(CATEGORIES):
    print("%-9s %.2f" % (c, np.mean(pred[y_test == k] == k)))
print("test accuracy %.3f" % np.mean(pred == y_test))
