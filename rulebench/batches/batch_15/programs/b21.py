"""REINFORCE with baseline on CartPole."""
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self, n_obs, n_act, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, n_act)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def rollout(env, model, max_steps):
    obs, _ = env.reset()
    observations, actions, rewards = [], [], []
    for _ in range(max_steps):
        o = torch.as_tensor(obs, dtype=torch.float32)
        with torch.no_grad():
            dist, _ = model(o)
        action = dist.sample()
        obs, r, term, trunc, _ = env.step(action.item())
        observations.append(o)
        actions.append(action)
        rewards.append(r)
        if term or trunc:
            break
    return torch.stack(observations), torch.stack(actions), rewards


def discounted(rewards, gamma):
    out, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        out.append(g)
    return torch.tensor(out[::-1], dtype=torch.float32)


def update(model, opt, episodes, gamma):
    obs = torch.cat([e[0] for e in episodes])
    acts = torch.cat([e[1] for e in episodes])
    rets = torch.cat([discounted(e[2], gamma) for e in episodes])
    dist, value = model(obs)
    adv = rets - value.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    logp = dist.log_prob(dist.sample())
    pi_loss = -(logp * adv).mean()
    v_loss = nn.functional.smooth_l1_loss(value, rets)
    loss = pi_loss + 0.5 * v_loss - 0.005 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    return pi_loss.item(), v_loss.item()


def main():
    torch.manual_seed(0)
    env = gym.make("CartPole-v1")
    env.reset(seed=0)
    model = ActorCritic(4, 2)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    history = []
    for it in range(80):
        eps = [rollout(env, model, 200) for _ in range(5)]
        history.append(np.mean([sum(e[2]) for e in eps]))
        pl, vl = update(model, opt, eps, 0.99)
        if (it + 1) % 10 == 0:
            print(f"iter {it + 1:3d} return {np.mean(history[-10:]):6.1f} pi {pl:+.4f} v {vl:.3f}")
    print("last 10 iterations:", np.mean(history[-10:]))


if __name__ == "__main__":
    main()
