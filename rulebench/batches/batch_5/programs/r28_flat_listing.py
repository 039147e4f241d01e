import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(31)
rng = np.random.default_rng(31)

# flats: area, rooms, age, distance + district id -> log price (regression) and "sold within a month" (binary)
n = 4000
district = rng.integers(0, 15, n)
num = np.stack([rng.gamma(9, 8, n), rng.integers(1, 6, n), rng.uniform(0, 80, n), rng.exponential(5, n)], 1)
dist_effect = rng.normal(0, 0.35, 15)
log_price = 0.9 * np.log(num[:, 0]) + 0.05 * num[:, 1] - 0.004 * num[:, 2] - 0.03 * num[:, 3] + dist_effect[district] + 8 + rng.normal(0, 0.1, n)
p_sold = 1 / (1 + np.exp(-(1.5 * dist_effect[district] / 0.35 - 0.15 * num[:, 3] + 0.4)))
sold = (rng.random(n) < p_sold).astype("float32")

tr, te = train_test_split(np.arange(n), test_size=0.25, random_state=31)
m, s = num[tr].mean(0), num[tr].std(0)
num = ((num - m) / s).astype("float32")
pm, ps = log_price[tr].mean(), log_price[tr].std()
target = ((log_price - pm) / ps).astype("float32")

i_num, i_d = keras.Input((4,), name="numeric"), keras.Input((1,), dtype="int32", name="district")
e = layers.Flatten()(layers.Embedding(15, 4)(i_d))
h = layers.Concatenate()([i_num, e])
h = layers.Dense(48, activation="swish")(h)
h = layers.Dense(48, activation="swish")(h)
price = layers.Dense(1, name="price")(h)
quick = layers.Dense(1, activation="sigmoid", name="quick")(h)
model = keras.Model([i_num, i_d], {"price": price, "quick": quick})

sched = keras.optimizers.schedules.PolynomialDecay(3e-3, decay_steps=94 * 15, end_learning_rate=1e-5, power=1.0)
model.compile(optimizer=keras.optimizers.AdamW(sched, weight_decay=1e-4, clipnorm=1.0),
              loss={"price": keras.losses.Huber(), "quick": "binary_crossentropy"},
              loss_weights={"price": 5.0, "quick": 1.0},
              metrics={"price": ["mae"], "quick": ["accuracy"]})


def pack(k):
    return ({"numeric": num[k], "district": district[k][:, None]},
            {"price": target[k][:, None], "quick": sold[k][:, None]})


(xtr, ytr), (xte, yte) = pack(tr), pack(te)
model.fit(xtr, ytr, batch_size=32, epochs=15, validation_data=(xte, yte), verbose=2)
out = model.predict(xte, verbose=0)
res = out["price"][:, 0] * ps + pm - log_price[te]
oracle = np.mean((p_sold[te] > 0.5) == sold[te])
print("log-price rmse %.3f (noise 0.100)   quick acc %.3f (best possible about %.3f)"
      % (np.sqrt(np.mean(res ** 2)), np.mean((out["quick"][:, 0] > 0.5) == sold[te]), oracle))
