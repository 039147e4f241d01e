import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)

# are the brackets balanced?   0 = padding, 1 = "(", 2 = ")", 3 = other
def balanced(n):
    s, depth = [], 0
    while len(s) < n:
        r = rng.random()
        if r < 0.3:
            s.append(3)
        elif depth == 0 or (r < 0.65 and n - len(s) > depth):
            s.append(1); depth += 1
        else:
            s.append(2); depth -= 1
    return s + [2] * depth

X = np.zeros((3000, 24), dtype="int32")
y = np.zeros(3000, dtype="float32")
for i in range(3000):
    s = balanced(int(rng.integers(6, 14)))
    y[i] = 1
    if i % 2:
        br = [k for k, c in enumerate(s) if c in (1, 2)]
        k = int(rng.choice(br))
        s[k] = 3 - s[k]
        y[i] = 0
    X[i, :len(s)] = s
p = rng.permutation(3000)
X, y = X[p], y[p]

schedule = keras.optimizers.schedules.CosineDecay(1e-2, decay_steps=40 * 12, alpha=0.05)
model = keras.Sequential([
    keras.Input((24,), dtype="int32"),
    layers.Embedding(4, 8, mask_zero=True),
    layers.GRU(24),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(schedule, clipnorm=1.0), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(X[:2560], y[:2560], batch_size=64, epochs=12, validation_data=(X[2560:], y[2560:]), verbose=2)
print(model.evaluate(X[2560:], y[2560:], verbose=0))
