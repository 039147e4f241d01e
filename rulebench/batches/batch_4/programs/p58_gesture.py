import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# gesture-like series, 5 classes: EMA of the weights, 2 small batches per update, label smoothing
SEED = 70
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
CLASSES, T, C = 5, 40, 3


def series(n):
    y = rng.integers(0, CLASSES, n)
    t = np.linspace(0, 1, T)
    x = np.zeros((n, T, C), "float32")
    for i, k in enumerate(y):
        f, ph = 1.5 + k * 0.8 + rng.normal(0, 0.15), rng.uniform(0, 2 * np.pi)
        env = np.exp(-((t - rng.uniform(0.3, 0.7)) / 0.3) ** 2)
        for c in range(C):
            x[i, :, c] = env * np.sin(2 * np.pi * f * t + ph + c * k) + rng.normal(0, 0.4, T)
    return x * 9.81, y


x_train, y_train = series(2500)
x_test, y_test = series(800)
onehot = lambda y: keras.utils.to_categorical(y, CLASSES)

norm = layers.Normalization()
norm.adapt(x_train)
model = keras.Sequential([
    keras.Input((T, C)),
    norm,
    layers.Conv1D(32, 5, padding="same", activation="swish"),
    layers.MaxPooling1D(2),
    layers.Conv1D(48, 5, padding="same", activation="swish"),
    layers.GlobalAveragePooling1D(),
    layers.Dropout(0.3),
    layers.Dense(CLASSES),
])
opt = keras.optimizers.AdamW(4e-3, weight_decay=4e-3, use_ema=True, ema_momentum=0.98, gradient_accumulation_steps=2)
model.compile(opt, keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1), metrics=["accuracy"])
swap = keras.callbacks.SwapEMAWeights(swap_on_epoch=True)
model.fit(x_train, onehot(y_train), batch_size=32, epochs=18, validation_split=0.15, verbose=2, callbacks=[swap])
print("test with averaged weights", model.evaluate(x_test, onehot(y_test), verbose=0))
