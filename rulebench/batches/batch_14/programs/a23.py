import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

# Reptile on sine waves
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
INNER, META, K = 5, 700, 10

def task():
    a, ph = rng.uniform(1, 5), rng.uniform(0, np.pi)
    def sample(n):
        x = rng.uniform(-5, 5, (n, 1)).astype("float32")
        return x, (a * np.sin(x + ph)).astype("float32")
    return sample

net = keras.Sequential([keras.Input((1,)), layers.Dense(48, activation="tanh"),
                        layers.Dense(48, activation="tanh"), layers.Dense(1)])
net.compile(keras.optimizers.SGD(0.02), "mse")

def adapt(s, steps, n):
    x, y = s(n)
    for _ in range(steps):
        net.train_on_batch(x, y)

def evaluate():
    w = net.get_weights(); before, after = [], []
    for _ in range(15):
        s = task(); x, y = s(100)
        before.append(float(np.mean((net.predict_on_batch(x) - y) ** 2)))
        adapt(s, 20, K)
        after.append(float(np.mean((net.predict_on_batch(x) - y) ** 2)))
        net.set_weights(w)
    return np.mean(before), np.mean(after)

print("start    before/after adaptation: %.2f %.2f" % evaluate())
for it in range(META):
    old = net.get_weights()
    adapt(task(), INNER, 20)
    new = net.get_weights()
    eps = 0.8 * (1 - it / META)
    net.set_weights([o + eps * (n - o) for o, n in zip(old, new)])
    if it % 175 == 174:
        print(it + 1, "before/after adaptation: %.2f %.2f" % evaluate())
