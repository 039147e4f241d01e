import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers


class SineTask:
    def __init__(self, rng):
        self.amp, self.phase, self.rng = rng.uniform(0.5, 3.0), rng.uniform(0, np.pi), rng

    def sample(self, n):
        x = self.rng.uniform(-4, 4, (n, 1)).astype("float32")
        return x, (self.amp * np.sin(x + self.phase)).astype("float32")


def make_net(inner_lr):
    net = keras.Sequential([
        keras.Input((1,)),
        layers.Dense(48, activation="tanh"),
        layers.Dense(48, activation="tanh"),
        layers.Dense(1),
    ])
    net.compile(optimizer=keras.optimizers.SGD(inner_lr), loss="mse")
    return net


def adapt(net, task, start, steps, shots):
    """Plain SGD on one task from the given weights; every step draws new points."""
    net.set_weights(start)
    for _ in range(steps):
        x, y = task.sample(shots)
        net.train_on_batch(x, y)
    return net.get_weights()


def few_shot_error(net, start, seed, steps, shots, tasks=15):
    rng = np.random.default_rng(seed)
    before, after = [], []
    for _ in range(tasks):
        task = SineTask(rng)
        xs, ys = task.sample(shots)
        xq, yq = task.sample(100)
        net.set_weights(start)
        before.append(float(net.test_on_batch(xq, yq)))
        for _ in range(steps):
            net.train_on_batch(xs, ys)
        net.reset_metrics()
        after.append(float(net.test_on_batch(xq, yq)))
        net.reset_metrics()
    return np.mean(before), np.mean(after)


def main():
    p = argparse.ArgumentParser(description="Reptile on sine waves")
    p.add_argument("--meta-steps", type=int, default=900)
    p.add_argument("--inner-steps", type=int, default=6)
    p.add_argument("--shots", type=int, default=10)
    p.add_argument("--inner-lr", type=float, default=0.02)
    p.add_argument("--meta-lr", type=float, default=0.5)
    a = p.parse_args()
    keras.utils.set_random_seed(14)
    rng = np.random.default_rng(14)
    net = make_net(a.inner_lr)
    theta = net.get_weights()
    scratch = [w.copy() for w in theta]

    for it in range(a.meta_steps):
        phi = adapt(net, SineTask(rng), theta, a.inner_steps, a.shots)
        eps = a.meta_lr * (1 - it / a.meta_steps)
        theta = [t + eps * (f - t) for t, f in zip(theta, phi)]
        if (it + 1) % 300 == 0:
            b, c = few_shot_error(net, theta, 99, 20, a.shots)
            print(f"meta step {it + 1:4d}: query mse before {b:.3f} after adaptation {c:.3f}")
    b, c = few_shot_error(net, scratch, 99, 20, a.shots)
    print(f"random start: query mse before {b:.3f} after adaptation {c:.3f}")


if __name__ == "__main__":
    main()
