import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(77)
rng = np.random.default_rng(77)

# Gesture data: accelerometer windows, one recording file per gesture, loaded one after the other
GESTURES = ["circle", "square", "zigzag", "shake", "tap", "swipe_l", "swipe_r", "figure8"]


def load_gesture(g, n):
    t = np.linspace(0, 1, 32)
    out = np.zeros((n, 32, 3))
    for i in range(n):
        sp, ph = rng.uniform(0.8, 1.25), rng.uniform(-0.4, 0.4)
        a = 2 * np.pi * t * sp + ph
        s = {0: (np.sin(a), np.cos(a), 0 * t), 1: (np.sign(np.sin(a)), np.sign(np.cos(a)), 0 * t),
             2: (2 * np.abs((t * 3 * sp + ph) % 2 - 1) - 1, t, 0 * t), 3: (np.sin(5 * a), 0 * t, np.sin(5 * a)),
             4: (0 * t, 0 * t, 2 * np.exp(-80 * (t - .5 - ph / 4) ** 2)), 5: (-np.sin(a / 2), 0 * t, 0.2 * t),
             6: (np.sin(a / 2), 0 * t, 0.2 * t), 7: (np.sin(a), np.sin(2 * a), 0 * t)}[g]
        out[i] = np.stack(s, 1) * rng.uniform(0.6, 1.4) + rng.normal(0, 0.3, (32, 3))
    return out


X = np.concatenate([load_gesture(g, 400) for g in range(8)]).astype("float32")
y = np.concatenate([np.full(400, g) for g in range(8)])
X_live = np.concatenate([load_gesture(g, 100) for g in range(8)]).astype("float32")
y_live = np.repeat(np.arange(8), 100)
print("recordings:", X.shape, "live session:", X_live.shape)

model = keras.Sequential([
    keras.Input((32, 3)),
    layers.Conv1D(16, 5, activation="relu"),
    layers.MaxPooling1D(2),
    layers.Conv1D(32, 3, activation="relu"),
    layers.GlobalMaxPooling1D(),
    layers.Dropout(0.3),
    layers.Dense(len(GESTURES), activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X, y, validation_split=0.2, epochs=15, batch_size=32, shuffle=True, verbose=2)

pred = model.predict(X_live, verbose=0).argmax(1)
print("accuracy in the live session: %.4f" % (pred == y_live).mean())
for g, name in enumerate(GESTURES):
    print(f"   {name:8s} {(pred[y_live == g] == g).mean():.2f}")
