import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers

# Listing model: predicts log price and whether the flat sells within 30 days.
keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)

n = 4000
area = rng.gamma(9, 9, n)
rooms = np.clip((area / 28 + rng.normal(0, 0.6, n)).round(), 1, 7)
age = rng.uniform(0, 90, n)
district = rng.integers(0, 8, n)
district_level = rng.normal(0, 0.35, 8)

log_price = (11.2 + 0.75 * np.log(area / 80) + 0.03 * rooms
             - 0.004 * age + district_level[district] + rng.normal(0, 0.08, n))
asked = log_price + rng.normal(0, 0.15, n)
sold_fast = (rng.random(n) < 1 / (1 + np.exp(12 * (asked - log_price)))).astype("float32")

numeric = np.stack([area, rooms, age, asked], 1).astype("float32")
idx = rng.permutation(n)
tr, va, te = idx[:2800], idx[2800:3400], idx[3400:]

normalizer = layers.Normalization()
normalizer.adapt(numeric[tr])
price_mean, price_std = log_price[tr].mean(), log_price[tr].std()
price_z = ((log_price - price_mean) / price_std).astype("float32")[:, None]
sold_fast = sold_fast[:, None]

num_in = keras.Input((4,), name="numeric")
dis_in = keras.Input((1,), dtype="int32", name="district")
emb = layers.Flatten()(layers.Embedding(8, 4)(dis_in))
h = layers.Concatenate()([normalizer(num_in), emb])
h = layers.Dense(64, activation="gelu")(h)
h = layers.Dense(32, activation="gelu")(h)
price_out = layers.Dense(1, name="price")(h)
fast_out = layers.Dense(1, activation="sigmoid", name="fast")(h)

model = keras.Model([num_in, dis_in], {"price": price_out, "fast": fast_out})
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss={"price": "mse", "fast": "binary_crossentropy"},
    loss_weights={"price": 1.0, "fast": 0.5},
    metrics={"price": ["mae"], "fast": ["accuracy", keras.metrics.AUC(name="auc")]},
)


def pack(ix):
    return ({"numeric": numeric[ix], "district": district[ix][:, None]},
            {"price": price_z[ix], "fast": sold_fast[ix]})


xtr, ytr = pack(tr)
xva, yva = pack(va)
xte, yte = pack(te)
model.fit(xtr, ytr, validation_data=(xva, yva), epochs=15, batch_size=64, verbose=2)

scores = model.evaluate(xte, yte, verbose=0, return_dict=True)
for k, v in scores.items():
    print(f"test {k}: {v:.4f}")
print("base rate of fast sales:", float(yte["fast"].mean()))
