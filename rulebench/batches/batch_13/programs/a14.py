"""REINFORCE on a cart-pole written in numpy, many carts side by side."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse

import numpy as np
import torch
import keras
from keras import layers


class CartPoles:
    """n independent cart-poles; an episode ends when the pole falls."""

    def __init__(self, n, rng, max_steps=150):
        self.n, self.rng, self.max_steps = n, rng, max_steps

    def reset(self):
        self.s = self.rng.uniform(-0.05, 0.05, (self.n, 4))
        self.alive = np.ones(self.n, bool)
        self.t = 0
        return self.s.astype("float32")

    def step(self, a):
        x, v, th, w = self.s.T
        force = np.where(a == 1, 10.0, -10.0)
        c, s = np.cos(th), np.sin(th)
        tmp = (force + 0.05 * w ** 2 * s) / 1.1
        acc_th = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c ** 2 / 1.1))
        acc = tmp - 0.05 * acc_th * c / 1.1
        new = np.stack([x + 0.02 * v, v + 0.02 * acc, th + 0.02 * w, w + 0.02 * acc_th], 1)
        self.s = np.where(self.alive[:, None], new, self.s)
        reward = self.alive.astype("float32")
        self.alive &= (np.abs(self.s[:, 0]) < 2.4) & (np.abs(self.s[:, 2]) < 0.2095)
        self.t += 1
        return self.s.astype("float32"), reward, self.t >= self.max_steps or not self.alive.any()


def rollout(env, policy, rng):
    obs, states, actions, rewards = env.reset(), [], [], []
    done = False
    while not done:
        with torch.no_grad():
            p = torch.softmax(policy(obs), -1)[:, 1].cpu().numpy()
        a = (rng.random(env.n) < p).astype("int64")
        states.append(obs)
        actions.append(a)
        obs, r, done = env.step(a)
        rewards.append(r)
    return np.stack(states), np.stack(actions), np.stack(rewards)


def discounted(rewards, gamma):
    """rewards: (time, carts) -> returns of the same shape"""
    out = np.zeros_like(rewards)
    g = np.zeros(rewards.shape[1], "float32")
    for t in range(len(rewards)):
        g = rewards[t] + gamma * g
        out[t] = g
    return out


def update(policy, opt, states, actions, rewards, gamma):
    ret = discounted(rewards, gamma)
    mask = rewards > 0
    adv = (ret - ret[mask].mean()) / (ret[mask].std() + 1e-6)
    logits = policy(states.reshape(-1, 4))
    logp = torch.log_softmax(logits, -1)
    logp = logp.gather(1, torch.as_tensor(actions.reshape(-1, 1)))[:, 0]
    w = torch.as_tensor((adv * mask).reshape(-1).astype("float32"))
    loss = -(logp * w).sum() / mask.sum()
    policy.zero_grad()
    loss.backward()
    grads = [v.value.grad for v in policy.trainable_weights]
    with torch.no_grad():
        opt.apply(grads, policy.trainable_weights)
    return float(loss)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=120)
    ap.add_argument("--carts", type=int, default=24)
    ap.add_argument("--gamma", type=float, default=0.98)
    ap.add_argument("--lr", type=float, default=1e-2)
    args = ap.parse_args()
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)

    env = CartPoles(args.carts, rng)
    policy = keras.Sequential([layers.Input((4,)), layers.Dense(32, activation="tanh"), layers.Dense(2)])
    opt = keras.optimizers.Adam(args.lr)
    opt.build(policy.trainable_weights)

    lengths = []
    for k in range(args.updates):
        s, a, r = rollout(env, policy, rng)
        loss = update(policy, opt, s, a, r, args.gamma)
        lengths.append(r.sum(0).mean())
        if k % 10 == 0 or k == args.updates - 1:
            print(f"update {k:3d}  loss {loss:+.4f}  mean length {lengths[-1]:.1f}")
    print("mean length, last 10 updates: %.1f" % np.mean(lengths[-10:]))


if __name__ == "__main__":
    main()
