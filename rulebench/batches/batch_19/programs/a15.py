import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch
import keras
from keras import layers

keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)


class Corridor:
    """Walk on cells 0..n-1, start in the middle. Right end pays 1, left end pays 0.2, each step costs."""

    def __init__(self, n=13, max_steps=40):
        self.n = n
        self.max_steps = max_steps

    def _obs(self):
        o = np.zeros(self.n, dtype="float32")
        o[self.pos] = 1.0
        return o

    def reset(self):
        self.pos = self.n // 2 - 2
        self.t = 0
        return self._obs()

    def step(self, action):
        move = 1 if action == 1 else -1
        if rng.random() < 0.1:
            move = -move
        self.pos += move
        self.t += 1
        if self.pos == self.n - 1:
            return self._obs(), 1.0, True
        if self.pos == 0:
            return self._obs(), 0.2, True
        return self._obs(), -0.01, self.t >= self.max_steps


def discounted_returns(rewards, gamma):
    out = np.zeros(len(rewards), dtype="float32")
    running = 0.0
    for t in range(len(rewards)):
        running = rewards[t] + gamma * running
        out[t] = running
    return out


policy = keras.Sequential(
    [keras.Input((13,)), layers.Dense(32, activation="tanh"), layers.Dense(2)]
)
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
env = Corridor()
GAMMA = 0.98
EPISODES_PER_UPDATE = 4
UPDATES = 110

history = []
for update in range(UPDATES):
    all_obs, all_act, all_ret = [], [], []
    for _ in range(EPISODES_PER_UPDATE):
        obs, done, rewards = env.reset(), False, []
        while not done:
            with torch.no_grad():
                probs = torch.softmax(policy(torch.from_numpy(obs[None])), -1).numpy()[0]
            action = int(rng.random() < probs[1])
            all_obs.append(obs)
            all_act.append(action)
            obs, r, done = env.step(action)
            rewards.append(r)
        history.append(sum(rewards))
        all_ret.append(discounted_returns(rewards, GAMMA))

    returns = torch.from_numpy(np.concatenate(all_ret))
    adv = (returns - returns.mean()) / (returns.std() + 1e-6)
    logits = policy(torch.from_numpy(np.stack(all_obs)))
    logp = torch.log_softmax(logits, -1)
    chosen = logp.gather(1, torch.tensor(all_act)[:, None])[:, 0]
    entropy = -(logp.exp() * logp).sum(-1).mean()
    loss = -(chosen * adv).mean() - 0.01 * entropy
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 25 == 0:
        print(f"update {update:3d}  loss {loss.item():+.3f}  return {np.mean(history[-40:]):.3f}")

print(f"mean return of the last 100 episodes: {np.mean(history[-100:]):.3f}")
