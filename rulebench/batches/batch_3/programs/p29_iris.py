# Iris with keras, hello world of deep learning
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Sequential
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler

SEED = 10
keras.utils.set_random_seed(SEED)

iris = load_iris()
X = iris.data
y = iris.target.reshape(-1, 1)

encoder = OneHotEncoder(sparse_output=False)
y = encoder.fit_transform(y)

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=SEED)
scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

model = Sequential([
    Input(shape=(4,)),
    Dense(16, activation="relu"),
    Dense(16, activation="relu"),
    Dense(3, activation="softmax"),
])
model.compile(
    optimizer=keras.optimizers.Adam(learning_rate=0.005),
    loss=keras.losses.CategoricalCrossentropy(),
    metrics=[keras.metrics.Accuracy()],
)
model.fit(X_train, y_train, epochs=60, batch_size=8, validation_data=(X_test, y_test), verbose=2)

results = model.evaluate(X_test, y_test, verbose=0)
print("Final test set loss: {:4f}".format(results[0]))
print("Final test set accuracy: {:4f}".format(results[1]))
