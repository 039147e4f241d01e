"""Hourly load forecasting: predict the next hour from the past 24."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(13)
rng = np.random.default_rng(13)

# synthetic load: daily and weekly cycle, fast oscillation and noise
hours = np.arange(4000)
load = (
    10
    + 3 * np.sin(2 * np.pi * hours / 24)
    + 1.5 * np.sin(2 * np.pi * hours / 168)
    + 2.5 * np.sin(2 * np.pi * hours / 5.3)
    + rng.normal(scale=0.4, size=hours.size)
)
temp = 15 + 8 * np.sin(2 * np.pi * (hours - 4) / 24) + rng.normal(scale=1.0, size=hours.size)
series = np.stack([load, temp], axis=1).astype("float32")

n_train = 2800
mean, std = series[:n_train].mean(0), series[:n_train].std(0)
series = (series - mean) / std
train, test = series[:n_train], series[n_train:]

SEQ_LEN = 24
BATCH = 64


def make_dataset(block, shuffle):
    return keras.utils.timeseries_dataset_from_array(
        data=block,
        targets=block[SEQ_LEN - 1:, 0],
        sequence_length=SEQ_LEN,
        batch_size=BATCH,
        shuffle=shuffle,
        seed=13,
    )


train_ds = make_dataset(train[:2300], shuffle=True)
val_ds = make_dataset(train[2300:], shuffle=False)

inputs = keras.Input((SEQ_LEN, 2))
x = layers.GRU(16, return_sequences=False)(inputs)
x = layers.Dense(16, activation="relu")(x)
outputs = layers.Dense(1)(x)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse", metrics=["mae"])
model.fit(train_ds, validation_data=val_ds, epochs=8, verbose=2)

# roll over the test period as in operation: at hour t forecast hour t+1
windows = np.stack([test[t - SEQ_LEN:t] for t in range(SEQ_LEN, len(test))])
actual = test[SEQ_LEN:, 0]
forecast = model.predict(windows, verbose=0).ravel()
naive = windows[:, -1, 0]
print("operational MAE  %.4f (standardised)" % np.abs(forecast - actual).mean())
print("persistence MAE  %.4f (standardised)" % np.abs(naive - actual).mean())
