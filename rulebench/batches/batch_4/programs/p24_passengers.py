# "Airline passengers" style series with an LSTM: log, difference, scale, window
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from keras.callbacks import EarlyStopping, ReduceLROnPlateau
from sklearn.preprocessing import MinMaxScaler

SEED = 12
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

# 30 years of monthly numbers
m = np.arange(360)
season = np.array([-.12, -.14, .01, .0, .0, .11, .21, .20, .06, -.07, -.21, -.09])
series = np.exp(4.8 + 0.006 * m + season[m % 12] + rng.normal(0, 0.02, 360).cumsum() * 0.3
                + rng.normal(0, 0.015, 360))
train_months = 288
WINDOW = 24

log = np.log(series)
diff = np.diff(log)                       # diff[i] = log[i + 1] - log[i]
scaler = MinMaxScaler(feature_range=(-1, 1)).fit(diff[:train_months - 1, None])
scaled = scaler.transform(diff[:, None])

X = np.array([scaled[i - WINDOW:i] for i in range(WINDOW, len(scaled))])
Y = scaled[WINDOW:]
target_month = np.arange(WINDOW, len(scaled)) + 1      # month that Y belongs to
is_train = target_month < train_months
x_train, y_train, x_test, y_test = X[is_train], Y[is_train], X[~is_train], Y[~is_train]
n_val = 48                                # the last four years of the training part
print(x_train.shape, y_train.shape, x_test.shape)

model = keras.Sequential([
    keras.Input((WINDOW, 1)),
    layers.LSTM(24),
    layers.Dropout(0.1),
    layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(0.01, clipnorm=1.0), loss="mae")
model.fit(
    x_train[:-n_val], y_train[:-n_val], batch_size=16, epochs=120, verbose=2,
    validation_data=(x_train[-n_val:], y_train[-n_val:]),
    callbacks=[ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=8, min_lr=1e-4, verbose=1),
               EarlyStopping(monitor="val_loss", patience=25, restore_best_weights=True)],
)

# one step ahead forecasts on the original scale
step = scaler.inverse_transform(model.predict(x_test, verbose=0))[:, 0]
months = target_month[~is_train]
forecast = np.exp(log[months - 1] + step)
mape = lambda f: 100 * np.mean(np.abs(f - series[months]) / series[months])
print("MAPE: LSTM %.2f %%, last month %.2f %%, same month last year %.2f %%" % (
    mape(forecast), mape(series[months - 1]), mape(series[months - 12])))
