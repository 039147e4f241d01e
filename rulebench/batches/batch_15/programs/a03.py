import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import pandas as pd
import keras
from keras import layers
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import r2_score, mean_absolute_error

keras.utils.set_random_seed(0)
rng = np.random.default_rng(7)
n = 3000
df = pd.DataFrame({
    "area": rng.normal(1500, 450, n).clip(400),
    "rooms": rng.integers(1, 7, n),
    "age": rng.integers(0, 90, n),
    "dist_km": rng.gamma(2.0, 4.0, n),
    "garage": rng.integers(0, 3, n),
})
df["price"] = (120 * df.area + 9000 * df.rooms - 700 * df.age
               - 3500 * df.dist_km + 12000 * df.garage + 60000
               + rng.normal(0, 12000, n))

X = df.drop(columns="price").values.astype("float32")
y = df["price"].values.astype("float32")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=1)

scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

model = keras.Sequential([
    layers.Input((X.shape[1],)),
    layers.Dense(64, activation="relu"),
    layers.Dense(32, activation="relu"),
    layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
model.fit(X_train, y_train, validation_split=0.1, epochs=20, batch_size=32, verbose=2)

pred = model.predict(X_test, verbose=0).ravel()
print("MAE: %.0f dollars" % mean_absolute_error(y_test, pred))
print("R2 : %.3f" % r2_score(y_test, pred))
print("first predictions", pred[:5], "true", y_test[:5])
