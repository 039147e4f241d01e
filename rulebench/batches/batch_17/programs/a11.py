import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import pandas as pd
import keras
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)
n = 3000
df = pd.DataFrame({
    "income": rng.lognormal(10.6, 0.5, n),
    "loan": rng.lognormal(11.5, 0.6, n),
    "age": rng.integers(20, 70, n),
    "late_payments": rng.poisson(1.2, n),
    "years_employed": rng.exponential(6, n),
})
z = (1.6 * df.late_payments - 0.25 * df.years_employed - 0.06 * (df.age - 45)
     + 1.0 * np.log(df.loan / df.income) - 1.5)
df["default"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-z))).astype(int)

X = df.drop(columns="default").to_numpy("float32")
y = df["default"].to_numpy()
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)

model = keras.Sequential([
    keras.Input((5,)),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy",
              metrics=["accuracy", keras.metrics.AUC(name="auc")])
model.fit(X_train, y_train, validation_data=(X_test, y_test), epochs=25, batch_size=32, verbose=2)

print("share of defaults:", y_test.mean().round(3))
print(model.evaluate(X_test, y_test, verbose=0, return_dict=True))
