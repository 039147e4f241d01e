import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(15)
X, y = make_classification(n_samples=2500, n_features=12, n_informative=8, n_redundant=2,
                           n_classes=3, class_sep=1.5, random_state=15)
units = 10 ** np.random.uniform(-1, 2, 12)
X = X * units + 5 * units * np.random.uniform(0.5, 2, 12)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.3, random_state=15)

scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)

inputs = keras.Input((12,))
h = layers.Dense(64, activation="relu")(inputs)
h = layers.Dense(32, activation="relu")(h)
outputs = layers.Dense(3, activation="softmax")(h)
model = keras.Model(inputs, outputs)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=20, batch_size=32, validation_data=(X_val, y_val), verbose=2)
print("val loss/acc:", model.evaluate(X_val, y_val, verbose=0))
