"""Trains an agent on CartPole by PPO in one file, as CleanRL does; a step is one minibatch."""

import argparse
import time

import numpy as np
import torch
import torch.nn as nn
from torch.distributions.categorical import Categorical

NUM_ENVS, NUM_STEPS, EPOCHS, MINIBATCH = 16, 16, 4, 64
GAMMA, LAMBDA, CLIP, ENT_COEF, VF_COEF = 0.99, 0.95, 0.2, 0.01, 0.5


class CartPole:
    """As many carts as asked for, stepped together."""

    def __init__(self, count, rng):
        self.rng, self.state = rng, rng.uniform(-0.05, 0.05, (count, 4))

    def step(self, action):
        _, x_dot, theta, theta_dot = self.state.T
        force, cos, sin = np.where(action == 1, 10.0, -10.0), np.cos(theta), np.sin(theta)
        temp = (force + 0.05 * theta_dot**2 * sin) / 1.1
        theta_acc = (9.8 * sin - cos * temp) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        x_acc = temp - 0.05 * theta_acc * cos / 1.1
        self.state += 0.02 * np.stack([x_dot, x_acc, theta_dot, theta_acc], axis=1)
        done = (np.abs(self.state[:, 0]) > 2.4) | (np.abs(self.state[:, 2]) > 0.2095)
        self.state[done] = self.rng.uniform(-0.05, 0.05, (done.sum(), 4))
        return self.state, done


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=2000, help="optimizer steps")
args = parser.parse_args()

torch.manual_seed(1)
envs = CartPole(NUM_ENVS, np.random.default_rng(1))
actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
params = [*actor.parameters(), *critic.parameters()]
optimizer = torch.optim.Adam(params, lr=2.5e-4, eps=1e-5)

warmup, update, iteration = max(1, min(20, args.steps // 10)), 0, 0
start = time.perf_counter()
while update < args.steps:
    obs, actions, logprobs, values = [], [], [], []
    dones = np.zeros((NUM_STEPS, NUM_ENVS))
    for t in range(NUM_STEPS):
        obs.append(torch.tensor(envs.state, dtype=torch.float32))
        with torch.no_grad():
            dist = Categorical(logits=actor(obs[t]))
            actions.append(dist.sample())
            logprobs.append(dist.log_prob(actions[t]))
            values.append(critic(obs[t]).flatten())
        dones[t] = envs.step(actions[t].numpy())[1]

    with torch.no_grad():  # generalized advantage estimation; each step is rewarded by one
        values.append(critic(torch.tensor(envs.state, dtype=torch.float32)).flatten())
        alive, last, advantages = torch.tensor(1 - dones).float(), 0.0, [None] * NUM_STEPS
        for t in reversed(range(NUM_STEPS)):
            delta = 1.0 + GAMMA * values[t + 1] * alive[t] - values[t]
            last = advantages[t] = delta + GAMMA * LAMBDA * alive[t] * last
    b_obs, b_actions, b_logprobs = torch.cat(obs), torch.cat(actions), torch.cat(logprobs)
    b_adv, b_values = torch.cat(advantages), torch.cat(values[:-1])

    batches = [mb for _ in range(EPOCHS) for mb in torch.randperm(len(b_obs)).split(MINIBATCH)]
    for mb in batches[: args.steps - update]:
        if update == warmup:
            start = time.perf_counter()
        dist = Categorical(logits=actor(b_obs[mb]))
        ratio = (dist.log_prob(b_actions[mb]) - b_logprobs[mb]).exp()
        adv = (b_adv[mb] - b_adv[mb].mean()) / (b_adv[mb].std() + 1e-8)
        pg_loss = torch.max(-adv * ratio, -adv * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
        v_loss = 0.5 * (critic(b_obs[mb]).flatten() - b_adv[mb] - b_values[mb]).pow(2).mean()
        loss = pg_loss - ENT_COEF * dist.entropy().mean() + VF_COEF * v_loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 0.5)
        optimizer.step()
        update += 1
    iteration += 1
    if iteration % 10 == 1:
        length = dones.size / max(1, dones.sum())
        print(f"update={update} loss={loss.item():.4f} mean_length={length:.1f}")

elapsed = time.perf_counter() - start
print(f"steps_per_s={(args.steps - warmup) / elapsed:.3f} loss={loss.item()!r}")
