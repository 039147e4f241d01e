import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import keras
from keras import layers


class Corridor:
    """A batch of walkers on 0..N-1. Every move costs 0.05; the goal on the right pays 1.
    A small prize of 0.15 lies on the left end and ends the episode too."""

    def __init__(self, n_envs, n=9, limit=25, seed=0):
        self.n_envs, self.n, self.limit = n_envs, n, limit
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.pos = self.rng.integers(2, 5, self.n_envs)
        self.t = 0
        self.alive = np.ones(self.n_envs, bool)
        return self.obs()

    def obs(self):
        return np.eye(self.n, dtype="float32")[self.pos]

    def step(self, a):
        self.t += 1
        self.pos = np.clip(self.pos + np.where(a == 1, 1, -1), 0, self.n - 1)
        r = np.where(self.alive, -0.05, 0.0)
        r = np.where(self.alive & (self.pos == self.n - 1), r + 1.0, r)
        r = np.where(self.alive & (self.pos == 0), r + 0.15, r)
        was = self.alive.copy()
        self.alive &= (self.pos != 0) & (self.pos != self.n - 1)
        done = (not self.alive.any()) or self.t >= self.limit
        return self.obs(), r, was, done


def discounted(rewards, gamma):
    """rewards: (time, envs) -> return of every step"""
    out = np.zeros_like(rewards)
    running = np.zeros(rewards.shape[1])
    for t in range(len(rewards)):
        running = rewards[t] + gamma * running
        out[t] = running
    return out


def run_episode(env, policy):
    obs, acts, rews, masks = [], [], [], []
    s, done = env.reset(), False
    while not done:
        p = keras.ops.convert_to_numpy(policy(s, training=False))
        a = (env.rng.uniform(size=len(p)) < p[:, 1]).astype(int)
        s2, r, was, done = env.step(a)
        obs.append(s); acts.append(a); rews.append(r); masks.append(was)
        s = s2
    return np.array(obs), np.array(acts), np.array(rews), np.array(masks)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=120)
    ap.add_argument("--gamma", type=float, default=0.95)
    ap.add_argument("--lr", type=float, default=0.02)
    args = ap.parse_args()
    keras.utils.set_random_seed(0)
    env = Corridor(32)
    policy = keras.Sequential([keras.Input((env.n,)), layers.Dense(32, activation="tanh"),
                               layers.Dense(2, activation="softmax")])
    policy.compile(keras.optimizers.Adam(args.lr), loss="sparse_categorical_crossentropy")

    history = []
    for u in range(args.updates):
        obs, acts, rews, masks = run_episode(env, policy)
        ret = discounted(rews, args.gamma)
        m = masks.reshape(-1)
        adv = ret.reshape(-1)[m]
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        loss = policy.train_on_batch(obs.reshape(-1, env.n)[m], acts.reshape(-1)[m],
                                     sample_weight=adv.astype("float32"))
        history.append(rews.sum(0).mean())
        if (u + 1) % 10 == 0:
            print(f"update {u + 1:4d} loss {float(loss):8.4f} mean return {np.mean(history[-10:]):.3f}")
    p = policy.predict(np.eye(env.n, dtype="float32"), verbose=0)[:, 1]
    print("P(right) by position", p.round(2))
    print("mean return of the last 20 updates %.3f" % np.mean(history[-20:]))


if __name__ == "__main__":
    main()
