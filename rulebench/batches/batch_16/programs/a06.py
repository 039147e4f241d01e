import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler
import pandas as pd

# house price (log scale) and "sold within a month" from the same trunk
keras.utils.set_random_seed(10)
rng = np.random.default_rng(10)
n = 3000
df = pd.DataFrame({"area": rng.gamma(8, 12, n), "age": rng.integers(0, 80, n),
                   "town": rng.choice(list("ABCDE"), n)})
factor = df["town"].map(dict(zip("ABCDE", [0.7, 0.9, 1.0, 1.3, 1.8])))
price = 2500 * df["area"] ** 0.9 * factor * np.exp(-0.004 * df["age"] + rng.normal(0, 0.12, n))
quick = (rng.random(n) < 1 / (1 + np.exp(0.04 * (df["age"] - 40) + 1.5 * (factor - 1)))).astype("float32")

train, test = train_test_split(np.arange(n), test_size=0.25, random_state=0)
prep = ColumnTransformer([("num", StandardScaler(), ["area", "age"]), ("cat", OneHotEncoder(), ["town"])],
                         sparse_threshold=0)
X_train = prep.fit_transform(df.iloc[train]).astype("float32")
X_test = prep.transform(df.iloc[test]).astype("float32")
logp = np.log1p(price.to_numpy()).astype("float32")
center = logp[train].mean()

inp = keras.Input((X_train.shape[1],))
h = layers.Dense(64, activation="relu")(inp)
h = layers.Dense(32, activation="relu")(h)
price_out = layers.Dense(1, name="price")(h)
quick_out = layers.Dense(1, activation="sigmoid", name="quick")(h)
model = keras.Model(inp, {"price": price_out, "quick": quick_out})
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss={"price": keras.losses.Huber(), "quick": "binary_crossentropy"},
              loss_weights={"price": 5.0, "quick": 0.5}, metrics={"quick": ["accuracy"]})
model.fit(X_train, {"price": logp[train] - center, "quick": quick[train]}, epochs=20, batch_size=64,
          validation_split=0.15, verbose=2)

out = model.predict(X_test, verbose=0)
pred = np.expm1(out["price"][:, 0] + center)
print("median relative error", np.median(np.abs(pred / price.to_numpy()[test] - 1)))
print("quick accuracy", ((out["quick"][:, 0] > 0.5) == quick[test]).mean(), "majority", max(quick[test].mean(), 1 - quick[test].mean()))
