import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

# Echo state network: the recurrent part is random and never moves, only the readout is learned.
SEED = 6
keras.utils.set_random_seed(SEED)
UNITS, STEPS = 150, 40


def mackey_glass(n, tau=17, warm=300):
    x = [1.2 + 0.1 * np.random.rand()] * (tau + 1)
    for _ in range(n + warm):
        x.append(x[-1] + 0.2 * x[-tau - 1] / (1 + x[-tau - 1] ** 10) - 0.1 * x[-1])
    return np.array(x[-n:], "float32")


s = mackey_glass(3600)
s = (s - s.mean()) / s.std()
AHEAD = 6
X = np.stack([s[i:i + STEPS] for i in range(len(s) - STEPS - AHEAD)])[..., None]
y = s[STEPS + AHEAD - 1:len(s) - 1][:len(X), None]
split = 2800
w = np.random.randn(UNITS, UNITS) * (np.random.rand(UNITS, UNITS) < 0.1)
w *= 0.9 / np.abs(np.linalg.eigvals(w)).max()

reservoir = layers.SimpleRNN(UNITS, activation="tanh")
net = keras.Sequential([keras.Input((STEPS, 1)), reservoir, layers.Dense(1)])
k, _, b = reservoir.get_weights()
reservoir.set_weights([np.random.uniform(-0.5, 0.5, k.shape), w, b])
reservoir.trainable = False

net.compile(keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(1e-2, 40 * 44)), loss="mse")
net.fit(X[:split], y[:split], batch_size=64, epochs=40, verbose=2)

p = net.predict(X[split:], verbose=0)
t = y[split:]
print("NRMSE on the last part: %.4f (persistence: %.4f)" % (
    np.sqrt(((p - t) ** 2).mean()) / t.std(), np.sqrt(((X[split:, -1] - t) ** 2).mean()) / t.std()))
