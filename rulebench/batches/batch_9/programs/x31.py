import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import pandas as pd
import keras
from keras import layers
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
n = 1600
df = pd.DataFrame({
    "age": rng.integers(18, 75, n),
    "income": rng.lognormal(10.6, 0.5, n),
    "balance": rng.normal(4000, 9000, n),
    "products": rng.integers(1, 5, n),
    "active": rng.integers(0, 2, n),
    "tenure": rng.integers(0, 11, n),
})
z = 0.09 * (df.age - 45) - 1.6 * (df.active - 0.5) - 0.9 * (df.products - 2.5) - 0.2 * (df.tenure - 5)
df["left"] = (z + rng.logistic(0, 0.5, n) > 0).astype(int)

X = df.drop(columns="left").values.astype("float32")
y = df["left"].values
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=4)

model = keras.Sequential([
    layers.Input((X.shape[1],)),
    layers.Dense(12, activation="relu"),
    layers.Dense(8, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=25, batch_size=16, validation_split=0.15, verbose=2)
print("majority share", max(y_test.mean(), 1 - y_test.mean()))
print("accuracy on test:", model.evaluate(X_test, y_test, verbose=0)[1])
