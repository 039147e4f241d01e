import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(2024)
X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=2024)
x_scaler, y_scaler = StandardScaler(), StandardScaler()
X_train = x_scaler.fit_transform(X_train)
X_test = x_scaler.transform(X_test)
y_train_s = y_scaler.fit_transform(y_train.reshape(-1, 1))
y_test_s = y_scaler.transform(y_test.reshape(-1, 1))


def build_model():
    model = keras.Sequential()
    model.add(keras.Input(shape=(X_train.shape[1],)))
    model.add(layers.Dense(32, activation="relu", kernel_regularizer=keras.regularizers.L2(1e-3)))
    model.add(layers.Dense(16, activation="relu", kernel_regularizer=keras.regularizers.L2(1e-3)))
    model.add(layers.Dense(1, activation="relu"))
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
    return model


model = build_model()
model.fit(X_train, y_train_s, validation_data=(X_test, y_test_s), epochs=30, batch_size=16, verbose=2)
pred = y_scaler.inverse_transform(model.predict(X_test, verbose=0))
print("RMSE: %.2f" % np.sqrt(mean_squared_error(y_test, pred)))
print("R2: %.3f" % r2_score(y_test, pred))
