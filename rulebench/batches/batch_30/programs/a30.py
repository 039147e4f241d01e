"""House prices from a mixed input: numeric columns and a neighbourhood id (functional API)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import r2_score, mean_absolute_error

SEED = 2
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

n, hoods = 4000, 25
hood = rng.integers(0, hoods, n)
hood_price = rng.normal(2500, 700, hoods)
area = rng.uniform(40, 220, n)
rooms = np.clip(np.round(area / 28 + rng.normal(0, 0.8, n)), 1, 9)
age = rng.uniform(0, 90, n)
price = area * hood_price[hood] * (1 - 0.004 * age) + 6000 * rooms + 8000 * rng.normal(size=n)

num = np.stack([area, rooms, age], axis=1)
tr, va, te = np.split(rng.permutation(n), [2800, 3400])
mu, sd = num[tr].mean(0), num[tr].std(0)
num = ((num - mu) / sd).astype("float32")
y_mu, y_sd = price[tr].mean(), price[tr].std()
y = ((price - y_mu) / y_sd).astype("float32")

in_num = keras.Input((3,), name="num")
in_hood = keras.Input((1,), dtype="int32", name="hood")
e = layers.Flatten()(layers.Embedding(hoods, 6)(in_hood))
h = layers.Concatenate()([in_num, e])
h = layers.Dense(64, activation="relu")(h)
h = layers.Dense(32, activation="relu")(h)
model = keras.Model([in_num, in_hood], layers.Dense(1)(h))
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="mse", metrics=["mae"])


def pack(ix):
    return {"num": num[ix], "hood": hood[ix][:, None]}


model.fit(pack(tr), y[tr], validation_data=(pack(va), y[va]), epochs=25, batch_size=64, verbose=2,
          callbacks=[keras.callbacks.EarlyStopping(patience=6, restore_best_weights=True)])
pred = model.predict(pack(te), verbose=0)[:, 0] * y_sd + y_mu
print("test MAE %.0f EUR, R2 %.4f" % (mean_absolute_error(price[te], pred), r2_score(price[te], pred)))
