import os
os.environ["KERAS_BACKEND"] = "jax"
import math
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)

# three interleaved spiral arms
N, K = 700, 3
X = np.zeros((N * K, 2), dtype="float32")
y = np.zeros(N * K, dtype="int32")
for k in range(K):
    r = np.linspace(0.05, 1, N)
    t = np.linspace(k * 4, (k + 1) * 4 + 3.0, N) + rng.normal(0, 0.1, N)
    X[k * N:(k + 1) * N] = np.c_[r * np.sin(t), r * np.cos(t)]
    y[k * N:(k + 1) * N] = k
p = rng.permutation(N * K)
X, y = X[p], y[p]
X_train, y_train, X_val, y_val = X[:1600], y[:1600], X[1600:], y[1600:]

model = keras.Sequential([
    layers.Input((2,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(K, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.SGD(learning_rate=0.02, momentum=0.9),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])


def scheduler(epoch, lr):
    # exponential decay after a short constant phase
    if epoch < 3:
        return lr
    return lr * math.exp(-0.05 * (epoch - 2))


callbacks = [keras.callbacks.LearningRateScheduler(scheduler)]
hist = model.fit(X_train, y_train, epochs=50, batch_size=32, validation_data=(X_val, y_val),
                 callbacks=callbacks, verbose=0)
for e in range(4, 50, 5):
    h = hist.history
    print(f"epoch {e+1:2d} lr {h['learning_rate'][e]:.2e} loss {h['loss'][e]:.4f} acc {h['accuracy'][e]:.4f} val_acc {h['val_accuracy'][e]:.4f}")
print("final val accuracy", hist.history["val_accuracy"][-1])
