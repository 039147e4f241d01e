"""REINFORCE with a baseline on a windy grid, using fit-style updates with signed sample weights."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers

N = 5
MOVES = np.array([[-1, 0], [1, 0], [0, -1], [0, 1]])


class WindyGrid:
    def __init__(self, batch, rng):
        self.batch, self.rng = batch, rng
        self.goal = np.array([N - 1, N - 1])

    def reset(self):
        self.pos = self.rng.integers(0, N - 1, (self.batch, 2))
        self.done = np.zeros(self.batch, bool)
        return self.obs()

    def obs(self):
        o = np.zeros((self.batch, 2 * N), "float32")
        o[np.arange(self.batch), self.pos[:, 0]] = 1
        o[np.arange(self.batch), N + self.pos[:, 1]] = 1
        return o

    def step(self, a):
        wind = self.rng.random(self.batch) < 0.15
        move = MOVES[np.where(wind, 0, a)]
        new = np.clip(self.pos + move, 0, N - 1)
        self.pos = np.where(self.done[:, None], self.pos, new)
        arrived = (self.pos == self.goal).all(1) & ~self.done
        reward = np.where(self.done, 0.0, np.where(arrived, 1.0, -0.05))
        self.done |= arrived
        return self.obs(), reward, self.done.copy()


def rollout(env, policy, horizon, rng):
    obs, acts, rews, alive = [], [], [], []
    o = env.reset()
    running = np.ones(env.batch, bool)
    for _ in range(horizon):
        p = np.asarray(policy.predict_on_batch(o), "float64")
        a = (p.cumsum(1) > rng.random((len(p), 1)) * p.sum(1, keepdims=True)).argmax(1)
        obs.append(o); acts.append(a); alive.append(running.copy())
        o, r, done = env.step(a)
        rews.append(r)
        running = ~done
    return np.array(obs), np.array(acts), np.array(rews), np.array(alive)


def returns_to_go(r, gamma):
    g = np.zeros_like(r)
    acc = np.zeros(r.shape[1])
    for t in range(len(r) - 1, -1, -1):
        acc = r[t] + gamma * acc
        g[t] = acc
    return g


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=120)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--horizon", type=int, default=25)
    ap.add_argument("--gamma", type=float, default=0.97)
    a = ap.parse_args()
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    env = WindyGrid(a.batch, rng)

    policy = keras.Sequential([keras.Input((2 * N,)), layers.Dense(32, activation="tanh"),
                               layers.Dense(4, activation="softmax")])
    policy.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy")
    value = keras.Sequential([keras.Input((2 * N,)), layers.Dense(32, activation="tanh"), layers.Dense(1)])
    value.compile(keras.optimizers.Adam(1e-2), "mse")

    for it in range(a.iters):
        o, act, r, alive = rollout(env, policy, a.horizon, rng)
        g = returns_to_go(r, a.gamma)
        o2, act2 = o.reshape(-1, 2 * N), act.ravel()
        m = alive.ravel().astype("float32")
        base = np.asarray(value.predict_on_batch(o2)).ravel()
        adv = g.ravel() - base
        adv = (adv - adv[m > 0].mean()) / (adv[m > 0].std() + 1e-6) * m
        # cross-entropy of the taken action, weighted with the advantage
        loss = policy.train_on_batch(o2, act2, sample_weight=adv.astype("float32"))
        for _ in range(3):
            vloss = value.train_on_batch(o2, g.reshape(-1, 1), sample_weight=m)
        if it % 10 == 0 or it == a.iters - 1:
            print(f"iter {it:3d} mean return {r.sum(0).mean():.3f} arrived {env.done.mean():.2f} "
                  f"policy loss {float(loss):.4f} value loss {float(vloss):.4f}")


if __name__ == "__main__":
    main()
