import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(21)

# simulated accelerometer windows, one recording session per activity
ACTIVITIES = ["sit", "walk", "run", "stairs", "cycle", "jump"]
rng = np.random.default_rng(21)


def record(activity, n):
    t = np.arange(64) / 32.0
    freq = [0.1, 1.6, 2.9, 1.3, 2.2, 0.8][activity]
    amp = [0.1, 0.8, 1.5, 1.1, 0.6, 1.9][activity]
    ph = rng.uniform(0, 6.28, (n, 1))
    f = freq + 0.15 * rng.standard_normal((n, 1))
    ch1 = amp * np.sin(6.28 * f * t + ph)
    ch2 = 0.5 * amp * np.cos(12.57 * f * t + ph)
    x = np.stack([ch1, ch2, ch1 * ch2], -1)
    return x + 0.4 * rng.standard_normal(x.shape)


windows, labels = [], []
for a in range(len(ACTIVITIES)):
    windows.append(record(a, 350))
    labels += [a] * 350
X = np.concatenate(windows).astype("float32")
y = np.array(labels)

# standardise each channel
X = (X - X.mean((0, 1))) / X.std((0, 1))

model = keras.Sequential([
    keras.Input((64, 3)),
    layers.Conv1D(24, 7, activation="relu"),
    layers.MaxPooling1D(2),
    layers.Conv1D(32, 5, activation="relu"),
    layers.GlobalAveragePooling1D(),
    layers.Dropout(0.2),
    layers.Dense(len(ACTIVITIES)),
])
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = model.fit(X, y, batch_size=32, epochs=20, shuffle=True, validation_split=0.2, verbose=2)

# new session, all activities
Xn = np.concatenate([record(a, 100) for a in range(6)]).astype("float32")
Xn = (Xn - Xn.mean((0, 1))) / Xn.std((0, 1))
yn = np.repeat(np.arange(6), 100)
acc = float((model.predict(Xn, verbose=0).argmax(1) == yn).mean())
print("train acc (last epoch):", round(history.history["accuracy"][-1], 3))
print("accuracy in a new session:", round(acc, 3))
