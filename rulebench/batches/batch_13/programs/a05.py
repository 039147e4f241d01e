import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_friedman1
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler, StandardScaler

keras.utils.set_random_seed(10)
X, y = make_friedman1(n_samples=2000, n_features=8, noise=1.0, random_state=10)
y = 1000 * y          # yield in grams
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=10)

xs = StandardScaler().fit(X_train)
ys = MinMaxScaler().fit(y_train.reshape(-1, 1))

model = keras.Sequential([
    layers.Input((8,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(32, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="mse")
model.fit(xs.transform(X_train), ys.transform(y_train.reshape(-1, 1)),
          validation_split=0.1, epochs=40, batch_size=32, verbose=2)

pred = ys.inverse_transform(model.predict(xs.transform(X_test), verbose=0)).ravel()
print("MAE (g)", mean_absolute_error(y_test, pred))
print("R2     ", r2_score(y_test, pred))
