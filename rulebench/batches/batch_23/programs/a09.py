"""Churn model with early stopping on validation AUC."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import pandas as pd
import keras
from keras import layers
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(13)


def load_customers(n=6000):
    rng = np.random.default_rng(13)
    df = pd.DataFrame({
        "tenure": rng.gamma(2, 14, n),
        "monthly_fee": rng.normal(55, 18, n),
        "calls": rng.poisson(1.5, n),
        "late_payments": rng.poisson(0.6, n),
        "data_gb": rng.gamma(2, 5, n),
        "discount": rng.integers(0, 2, n),
    })
    value = df["data_gb"] / (df["monthly_fee"].abs() + 10)
    logit = (-1.2 - 0.03 * (df["tenure"] - 28) + 0.9 * (df["calls"] > 3)
             + 1.1 * df["late_payments"] * (1 - df["discount"])
             + 2.5 * np.sin(6 * value) - 0.8 * df["discount"])
    df["churn"] = (rng.random(n) < 1 / (1 + np.exp(-2 * logit))).astype(int)
    return df


df = load_customers()
X = df.drop(columns="churn").to_numpy("float32")
y = df["churn"].to_numpy("float32")
X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
X_train, X_val, y_train, y_val = train_test_split(X_fit, y_fit, test_size=0.2, random_state=0, stratify=y_fit)
sc = StandardScaler().fit(X_train)
X_train, X_val, X_test = (sc.transform(a) for a in (X_train, X_val, X_test))

model = keras.Sequential([
    keras.Input((X.shape[1],)),
    layers.Dense(64, activation="relu"),
    layers.Dense(32, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(
    optimizer=keras.optimizers.Adam(3e-4),
    loss="binary_crossentropy",
    metrics=[keras.metrics.AUC(name="auc")],
    jit_compile=False,
)

stopper = keras.callbacks.EarlyStopping(
    monitor="val_auc",
    mode="min",
    patience=8,
    restore_best_weights=True,
    verbose=1,
)
history = model.fit(
    X_train, y_train,
    validation_data=(X_val, y_val),
    epochs=40,
    batch_size=64,
    callbacks=[stopper],
    verbose=2,
)

p = model.predict(X_test, verbose=0).ravel()
print("epochs run:", len(history.history["loss"]))
print(f"test AUC {roc_auc_score(y_test, p):.4f}")
print(f"test average precision {average_precision_score(y_test, p):.4f}  (base rate {y_test.mean():.3f})")
