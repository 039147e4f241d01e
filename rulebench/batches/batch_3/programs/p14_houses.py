# functional API with two inputs and two outputs: price (regression) + "sold within a month" (0/1)
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import r2_score, roc_auc_score

SEED = 4
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

n = 3000
area = rng.uniform(30, 250, n)
rooms = np.clip(np.round(area / 30 + rng.normal(0, 1, n)), 1, 9)
age = rng.uniform(0, 80, n)
district = rng.integers(0, 15, n)
d_price = rng.normal(3000, 900, 15)
price = area * d_price[district] * (1 - 0.004 * age) + 8000 * rooms + rng.normal(0, 15000, n)
asked = price * rng.normal(1.0, 0.12, n)
p_sold = 1 / (1 + np.exp(14 * (asked / price - 1.0) + 0.02 * (age - 40)))
sold = (rng.random(n) < p_sold).astype("float32")

num = np.stack([area, rooms, age, asked / price], 1).astype("float32")
target_price = (price / 1000).astype("float32")          # in thousands
tr, te = slice(0, 2400), slice(2400, None)

norm = layers.Normalization()
norm.adapt(num[tr])

num_in = keras.Input((4,), name="num")
dis_in = keras.Input((1,), dtype="int32", name="district")
emb = layers.Flatten()(layers.Embedding(15, 4)(dis_in))
h = layers.Concatenate()([norm(num_in), emb])
h = layers.Dense(64, activation="relu")(h)
h = layers.Dense(64, activation="relu")(h)
price_out = layers.Dense(1, name="price")(h)
sold_out = layers.Dense(1, activation="sigmoid", name="sold")(h)
model = keras.Model([num_in, dis_in], [price_out, sold_out])

model.compile(
    optimizer=keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(5e-3, 75 * 25)),
    loss={"price": "mse", "sold": "binary_crossentropy"},
    loss_weights={"price": 1e-4, "sold": 1.0},
    metrics={"price": "mae", "sold": "accuracy"},
)
model.fit({"num": num[tr], "district": district[tr, None]},
          {"price": target_price[tr, None], "sold": sold[tr, None]},
          batch_size=32, epochs=25, verbose=2)

p, s = model.predict({"num": num[te], "district": district[te, None]}, verbose=0)
print("price r2 :", r2_score(target_price[te], p.ravel()))
print("sold auc :", roc_auc_score(sold[te], s.ravel()))
