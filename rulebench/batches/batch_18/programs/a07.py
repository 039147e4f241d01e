"""REINFORCE with a baseline on a small corridor world."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import argparse
import numpy as np
import torch
import keras
from keras import layers

N_CELLS = 9


class Corridor:
    """Start in the middle, goal at the right end, pit at the left end, every move costs a little."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.pos = N_CELLS // 2
        self.t = 0
        return self.obs()

    def obs(self):
        o = np.zeros(N_CELLS, dtype="float32")
        o[self.pos] = 1.0
        return o

    def step(self, action):
        if self.rng.random() < 0.1:
            action = 1 - action
        self.pos += 1 if action == 1 else -1
        self.t += 1
        if self.pos == N_CELLS - 1:
            return self.obs(), 1.0, True
        if self.pos == 0:
            return self.obs(), -1.0, True
        return self.obs(), -0.02, self.t >= 40


def discounted(rewards, gamma):
    out = np.zeros(len(rewards), dtype="float32")
    running = 0.0
    for i in reversed(range(len(rewards))):
        running = rewards[i] + gamma * running
        out[i] = running
    return out


def build_policy():
    return keras.Sequential([
        keras.Input((N_CELLS,)),
        layers.Dense(16, activation="tanh"),
        layers.Dense(2),
    ])


def run_episode(env, policy, rng):
    obs, acts, rews = [], [], []
    o, done = env.reset(), False
    while not done:
        with torch.no_grad():
            p = torch.softmax(policy(o[None]), dim=-1)[0].cpu().numpy()
        a = int(rng.random() < p[1])
        obs.append(o)
        acts.append(a)
        o, r, done = env.step(a)
        rews.append(r)
    return np.array(obs), np.array(acts), np.array(rews, dtype="float32")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=80)
    ap.add_argument("--episodes", type=int, default=4)
    ap.add_argument("--gamma", type=float, default=0.97)
    ap.add_argument("--lr", type=float, default=0.01)
    args = ap.parse_args()

    keras.utils.set_random_seed(2)
    rng = np.random.default_rng(2)
    env = Corridor(rng)
    policy = build_policy()
    optimizer = keras.optimizers.Adam(args.lr)
    history = []

    for upd in range(1, args.updates + 1):
        batch_obs, batch_act, batch_ret, totals = [], [], [], []
        for _ in range(args.episodes):
            o, a, r = run_episode(env, policy, rng)
            batch_obs.append(o)
            batch_act.append(a)
            batch_ret.append(discounted(r, args.gamma))
            totals.append(r.sum())
        obs = torch.as_tensor(np.concatenate(batch_obs))
        act = torch.as_tensor(np.concatenate(batch_act))
        ret = np.concatenate(batch_ret)
        adv = torch.as_tensor((ret - ret.mean()) / (ret.std() + 1e-6))

        policy.zero_grad()
        logp = torch.log_softmax(policy(obs), dim=-1)
        chosen = logp.gather(1, act[:, None])[:, 0]
        loss = (chosen * adv).mean()
        loss.backward()
        grads = [w.value.grad for w in policy.trainable_weights]
        with torch.no_grad():
            optimizer.apply(grads, policy.trainable_weights)

        history.append(np.mean(totals))
        if upd % 10 == 0:
            print(f"update {upd:3d}  loss {loss.item():+.4f}  mean return {np.mean(history[-10:]):+.3f}")

    print("mean return of the last 20 updates: %.3f" % np.mean(history[-20:]))


if __name__ == "__main__":
    main()
