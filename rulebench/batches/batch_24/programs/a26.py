"""Insurance claim severity: skewed target, mixed columns, preprocessing inside the model."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import pandas as pd
import keras
from keras import layers
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(50)
rng = np.random.default_rng(50)

n = 6000
df = pd.DataFrame({
    "age": rng.integers(18, 85, n),
    "power": rng.gamma(6, 15, n).round(),
    "km": rng.lognormal(9.3, 0.6, n).round(),
    "brand": rng.integers(0, 15, n),
    "zone": rng.integers(0, 6, n),
})
brand_eff = rng.normal(0, 0.3, 15)
zone_eff = rng.normal(0, 0.25, 6)
log_cost = (6.5 + brand_eff[df.brand] + zone_eff[df.zone] + 0.004 * df.power
            + 0.5 * np.exp(-((df.age - 18) / 8.0)) + 0.25 * (np.log(df.km) - 9.3)
            + rng.normal(0, 0.35, n))
df["cost"] = np.exp(log_cost)

train, test = train_test_split(df, test_size=0.25, random_state=0)
NUM = ["age", "power", "km"]


def to_inputs(frame):
    return {
        "numeric": frame[NUM].to_numpy("float32"),
        "brand": frame[["brand"]].to_numpy("int32"),
        "zone": frame[["zone"]].to_numpy("int32"),
    }


x_train, x_test = to_inputs(train), to_inputs(test)
log_train = np.log(train.cost.to_numpy())
center, spread = log_train.mean(), log_train.std()
y_train = ((log_train - center) / spread).astype("float32")

norm = layers.Normalization()
norm.adapt(x_train["numeric"])

num_in = keras.Input((3,), name="numeric")
brand_in = keras.Input((1,), dtype="int32", name="brand")
zone_in = keras.Input((1,), dtype="int32", name="zone")
parts = [
    norm(num_in),
    layers.Flatten()(layers.Embedding(15, 4)(brand_in)),
    layers.Flatten()(layers.Embedding(6, 3)(zone_in)),
]
h = layers.Concatenate()(parts)
h = layers.Dense(64, activation="silu")(h)
h = layers.Dense(32, activation="silu")(h)
out = layers.Dense(1)(h)
model = keras.Model({"numeric": num_in, "brand": brand_in, "zone": zone_in}, out)

model.compile(optimizer=keras.optimizers.AdamW(2e-3, weight_decay=1e-3), loss="mse")
model.fit(x_train, y_train, batch_size=64, epochs=10, validation_split=0.15, verbose=2)

pred_log = model.predict(x_test, verbose=0)[:, 0] * spread + center
true_log = np.log(test.cost.to_numpy())
resid = true_log - pred_log
print(f"log-scale rmse {resid.std():.4f}  r2 {1 - resid.var() / true_log.var():.3f}")
train_pred = model.predict(x_train, verbose=0)[:, 0] * spread + center
smear = np.mean(np.exp(log_train - train_pred))      # Duan's retransformation factor
cost_pred = np.exp(pred_log) * smear
print(f"mean cost {test.cost.mean():.1f}  mean predicted {cost_pred.mean():.1f}")
print(f"median absolute percentage error {np.median(np.abs(np.exp(pred_log) / test.cost - 1)):.3f}")
