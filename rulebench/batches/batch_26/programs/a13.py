import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import pandas as pd
import keras
from keras.layers import Dense, Dropout, Normalization
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import r2_score, mean_absolute_error

# House prices notebook (the csv is replaced by a generator so that it can be shared)
np.random.seed(77)
keras.utils.set_random_seed(77)
n = 2500
df = pd.DataFrame({
    "area": np.random.gamma(8, 12, n),
    "rooms": np.random.randint(1, 7, n),
    "age": np.random.exponential(25, n),
    "dist_center": np.random.gamma(2, 4, n),
    "garden": np.random.binomial(1, 0.35, n),
})
df["price"] = (900 * df.area * np.exp(-0.05 * df.dist_center) + 6000 * df.rooms - 250 * df.age
               + 18000 * df.garden + np.random.normal(0, 6000, n)) + 40000
print(df.describe().round(1).loc[["mean", "std", "min", "max"]])

train = df.sample(frac=0.8, random_state=77)
test = df.drop(train.index)
features = ["area", "rooms", "age", "dist_center", "garden"]

target_scaler = StandardScaler()
y_train = target_scaler.fit_transform(train[["price"]]).astype("float32")
x_train = train[features].to_numpy("float32")
x_test = test[features].to_numpy("float32")

norm = Normalization()
norm.adapt(x_train)
model = keras.Sequential([
    keras.Input((5,)),
    norm,
    Dense(64, activation="relu"),
    Dense(32, activation="relu"),
    Dense(1, activation="relu", kernel_initializer="he_uniform"),   # a price cannot be negative
])
model.compile(optimizer="adam", loss="mse")
h = model.fit(x_train, y_train, epochs=30, batch_size=64, validation_split=0.1, verbose=0)
for e in (0, 4, 9, 19, 29):
    print(f"epoch {e + 1}: mse {h.history['loss'][e]:.3f}, val {h.history['val_loss'][e]:.3f}")

pred = target_scaler.inverse_transform(model.predict(x_test, verbose=0))[:, 0]
print("MAE  ", round(mean_absolute_error(test.price, pred)))
print("R2   ", round(r2_score(test.price, pred), 4))
