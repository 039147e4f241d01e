import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import pandas as pd
import keras
from keras import layers

keras.utils.set_random_seed(11)

# --- a small housing table ---------------------------------------------------
rng = np.random.default_rng(11)
n = 2000
df = pd.DataFrame({
    "area": rng.normal(110, 30, n).clip(30, 250),
    "rooms": rng.integers(1, 7, n),
    "year": rng.integers(1900, 2021, n),
    "income": rng.normal(42000, 9000, n),
    "distance_m": rng.gamma(2.0, 2500, n),
})
df["price"] = (
    1.9 * df.area + 9 * df.rooms + 0.4 * (df.year - 1960) + 0.0025 * df.income
    - 0.006 * df.distance_m + rng.normal(0, 12, n)
) / 100.0

features = ["area", "rooms", "year", "income", "distance_m"]
train = df.sample(frac=0.8, random_state=11)
test = df.drop(train.index)
x_train = train[features].to_numpy("float32")
x_test = test[features].to_numpy("float32")
y_train = train[["price"]].to_numpy("float32")
y_test = test[["price"]].to_numpy("float32")
print(train[features].describe().round(1))


def build_model(n_features):
    normalizer = layers.Normalization(axis=-1)
    inputs = keras.Input((n_features,))
    h = normalizer(inputs)
    h = layers.Dense(32, activation="relu")(h)
    h = layers.Dense(32, activation="relu")(h)
    outputs = layers.Dense(1)(h)
    return keras.Model(inputs, outputs)


model = build_model(len(features))
model.compile(
    optimizer=keras.optimizers.Adam(learning_rate=3e-3),
    loss="mse",
    metrics=["mae"],
)
model.fit(x_train, y_train, validation_split=0.1, epochs=10, batch_size=64, verbose=2)

pred = model.predict(x_test, verbose=0)
ss_res = float(((pred - y_test) ** 2).sum())
ss_tot = float(((y_test - y_test.mean()) ** 2).sum())
print("test mae", float(np.abs(pred - y_test).mean()))
print("test r2", 1 - ss_res / ss_tot)
