"""House price style regression with a mixed table (numeric + categorical columns)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import pandas as pd
import keras
from keras import layers
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler

SEED = 5
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

N = 3000
df = pd.DataFrame({
    "area": rng.gamma(8, 12, N),
    "rooms": rng.integers(1, 8, N),
    "age": rng.uniform(0, 100, N),
    "district": rng.choice(list("ABCDEFG"), N),
    "heating": rng.choice(["gas", "oil", "heat pump"], N),
})
level = dict(zip("ABCDEFG", rng.normal(0, 0.3, 7)))
df["price"] = (1500 * df["area"] * np.exp(df["district"].map(level)) * (1 - 0.004 * df["age"])
               + 4000 * df["rooms"] + 15000 * (df["heating"] == "heat pump")
               + rng.normal(0, 8000, N))

train, test = train_test_split(df, test_size=0.2, random_state=SEED)
train, val = train_test_split(train, test_size=0.2, random_state=SEED)
num, cat = ["area", "rooms", "age"], ["district", "heating"]
ss = StandardScaler().fit(train[num])
oh = OneHotEncoder(sparse_output=False, handle_unknown="ignore").fit(train[cat])
ys = StandardScaler().fit(train[["price"]])


def prepare(d):
    return np.hstack([ss.transform(d[num]), oh.transform(d[cat])]).astype("float32"), ys.transform(d[["price"]])


(xa, ya), (xv, yv), (xt, yt) = prepare(train), prepare(val), prepare(test)
model = keras.Sequential([
    keras.Input((xa.shape[1],)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(1),
])
model.compile(keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
stop = keras.callbacks.EarlyStopping(patience=8, restore_best_weights=True)
model.fit(xa, ya, validation_data=(xv, yv), epochs=40, batch_size=32, callbacks=[stop], verbose=2)
pred = ys.inverse_transform(model.predict(xt, verbose=0))
print("test R2:", round(r2_score(test["price"], pred), 4))
