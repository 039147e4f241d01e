import os
os.environ["KERAS_BACKEND"] = "torch"

import keras
from keras import layers
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(7)

X, y = load_diabetes(return_X_y=True)
print("target range", y.min(), y.max())
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=7)

sc = StandardScaler()
X_train = sc.fit_transform(X_train)
X_test = sc.transform(X_test)

model = keras.Sequential([
    layers.Input((10,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(0.005), loss="mse", metrics=["mae"])
hist = model.fit(X_train, y_train, validation_data=(X_test, y_test),
                 epochs=40, batch_size=16, verbose=2)

pred = model.predict(X_test, verbose=0).ravel()
print("MAE", mean_absolute_error(y_test, pred))
print("R2 ", r2_score(y_test, pred))
