import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import pandas as pd
import keras
from keras import layers
from sklearn.model_selection import train_test_split
from sklearn.metrics import r2_score

keras.utils.set_random_seed(123)
rng = np.random.default_rng(123)

# house-price style table with two categorical columns
n = 3000
df = pd.DataFrame({
    "area": rng.gamma(6, 15, n),
    "rooms": rng.integers(1, 7, n),
    "age": rng.uniform(0, 90, n),
    "district": rng.choice(["north", "south", "east", "west", "centre"], n),
    "heating": rng.choice(["gas", "oil", "district"], n),
})
district_effect = {"north": 0.0, "south": 0.1, "east": -0.2, "west": 0.15, "centre": 0.5}
log_price = (
    11 + 0.7 * np.log(df.area) + 0.04 * df.rooms - 0.004 * df.age
    + df.district.map(district_effect) - 0.1 * (df.heating == "oil")
    + rng.normal(scale=0.12, size=n)
)
df["price"] = np.exp(log_price)

train, test = train_test_split(df, test_size=0.2, random_state=123)
num_cols = ["area", "rooms", "age"]

normalizer = layers.Normalization()
normalizer.adapt(train[num_cols].to_numpy("float32"))
levels = {c: sorted(train[c].unique()) for c in ["district", "heating"]}


def to_inputs(part):
    out = {"num": part[num_cols].to_numpy("float32")}
    for c, lv in levels.items():
        out[c] = part[c].map({v: i for i, v in enumerate(lv)}).to_numpy("int32")[:, None]
    return out


y_mean = np.log(train.price).mean()
y_std = np.log(train.price).std()
y_train = ((np.log(train.price) - y_mean) / y_std).to_numpy("float32")
y_test = ((np.log(test.price) - y_mean) / y_std).to_numpy("float32")

num = keras.Input((3,), name="num")
dist = keras.Input((1,), name="district", dtype="int32")
heat = keras.Input((1,), name="heating", dtype="int32")
h = layers.Concatenate()([
    normalizer(num),
    layers.Flatten()(layers.Embedding(5, 3)(dist)),
    layers.Flatten()(layers.Embedding(3, 2)(heat)),
])
h = layers.Dense(32, activation="relu")(h)
h = layers.Dense(16, activation="relu")(h)
out = layers.Dense(1)(h)
model = keras.Model({"num": num, "district": dist, "heating": heat}, out)
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="mse")

model.fit(
    to_inputs(train), y_train[:, None],
    validation_split=0.1, epochs=15, batch_size=64, verbose=2,
    callbacks=[keras.callbacks.EarlyStopping(
        monitor="val_loss", patience=5, restore_best_weights=True)],
)
pred = model.predict(to_inputs(test), verbose=0).ravel()
print("R2 on log price: %.4f" % r2_score(y_test, pred))
price = np.exp(pred * y_std + y_mean)
print("median relative error: %.3f" % np.median(np.abs(price / test.price.to_numpy() - 1)))
