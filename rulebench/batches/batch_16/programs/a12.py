import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import keras
from keras import layers


class CartPole:
    """A batch of cart-pole systems (same constants as in gym)."""

    def __init__(self, n, rng):
        self.n, self.rng = n, rng
        self.state = rng.uniform(-0.05, 0.05, (n, 4))

    def step(self, action):
        x, xd, th, thd = self.state.T
        f = np.where(action == 1, 10.0, -10.0)
        c, s = np.cos(th), np.sin(th)
        tmp = (f + 0.05 * thd ** 2 * s) / 1.1
        tha = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c ** 2 / 1.1))
        xa = tmp - 0.05 * tha * c / 1.1
        self.state = np.stack([x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * tha], 1)
        done = (np.abs(self.state[:, 0]) > 2.4) | (np.abs(self.state[:, 2]) > 0.2095)
        return self.state.copy(), np.ones(self.n), done

    def reset(self, mask):
        self.state[mask] = self.rng.uniform(-0.05, 0.05, (mask.sum(), 4))


SCALE = np.array([1.0, 1.0, 0.1, 1.0])


def collect(n_steps, rng, n_env=50):
    env = CartPole(n_env, rng)
    buf = []
    for _ in range(n_steps // n_env):
        s = env.state.copy()
        a = rng.integers(0, 2, n_env)
        s2, r, done = env.step(a)
        buf.append((s, a, r, s2, done))
        env.reset(done)
    s, a, r, s2, d = (np.concatenate(z) for z in zip(*buf))
    return s / SCALE, a, r, s2 / SCALE, d.astype("float32")


def evaluate(q, rng, n=20, limit=200):
    env = CartPole(n, rng)
    alive = np.ones(n, bool)
    length = np.zeros(n)
    for _ in range(limit):
        a = q.predict_on_batch((env.state / SCALE).astype("float32")).argmax(1)
        _, _, done = env.step(a)
        length += alive
        alive &= ~done
        if not alive.any():
            break
    return length.mean()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--transitions", type=int, default=6000)
    p.add_argument("--iterations", type=int, default=25)
    p.add_argument("--gamma", type=float, default=0.95)
    args = p.parse_args()
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)

    q = keras.Sequential([layers.Input((4,)), layers.Dense(48, activation="relu"),
                          layers.Dense(48, activation="relu"), layers.Dense(2)])
    q.compile(keras.optimizers.Adam(2e-3), "mse")
    s, a, r, s2, done = collect(args.transitions, rng)
    idx = np.arange(len(a))
    print("transitions", len(a), "episodes", int(done.sum()))

    for it in range(args.iterations):
        q_next = q.predict(s2, batch_size=2000, verbose=0)
        target = q.predict(s, batch_size=2000, verbose=0)
        target[idx, a] = r + args.gamma * q_next.max(axis=1)
        h = q.fit(s, target, batch_size=128, epochs=2, verbose=0)
        if (it + 1) % 5 == 0:
            print(f"iteration {it + 1} loss {h.history['loss'][-1]:.4f} mean q {target.mean():.2f} "
                  f"length {evaluate(q, rng):.1f}")


if __name__ == "__main__":
    main()
