# PPO on CartPole-v1, single file
from dataclasses import dataclass
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical

SEED = 1


@dataclass
class Args:
    num_envs: int = 4
    num_steps: int = 128
    total_timesteps: int = 36_000
    learning_rate: float = 1e-3
    gamma: float = 0.99
    gae_lambda: float = 0.95
    num_minibatches: int = 4
    update_epochs: int = 4
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5


def layer_init(layer, std=np.sqrt(2), bias=0.0):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, bias)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(4, 64)), nn.Tanh(), layer_init(nn.Linear(64, 64)), nn.Tanh(),
                                    layer_init(nn.Linear(64, 1), std=1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(4, 64)), nn.Tanh(), layer_init(nn.Linear(64, 64)), nn.Tanh(),
                                   layer_init(nn.Linear(64, 2), std=0.01))

    def get_action_and_value(self, x, action=None):
        dist = Categorical(logits=self.actor(x))
        if action is None:
            action = dist.sample()
        return action, dist.log_prob(action), dist.entropy(), self.critic(x).squeeze(-1)


args = Args()
np.random.seed(SEED)
torch.manual_seed(SEED)
envs = [gym.make("CartPole-v1") for _ in range(args.num_envs)]
agent = Agent()
optimizer = optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
S, N = args.num_steps, args.num_envs
obs = torch.zeros(S, N, 4)
actions, logprobs, rewards, dones, values = (torch.zeros(S, N) for _ in range(5))
next_obs = torch.tensor(np.stack([e.reset(seed=SEED + i)[0] for i, e in enumerate(envs)]))
next_done = torch.zeros(N)
ep_ret, history, batch_size = np.zeros(N), [], S * N
num_updates = args.total_timesteps // batch_size

for update in range(1, num_updates + 1):
    optimizer.param_groups[0]["lr"] = (1.0 - (update - 1.0) / num_updates) * args.learning_rate
    for step in range(S):
        obs[step], dones[step] = next_obs, next_done
        with torch.no_grad():
            action, logprob, _, value = agent.get_action_and_value(next_obs)
        actions[step], logprobs[step], values[step] = action, logprob, value
        o = []
        for i, e in enumerate(envs):
            ob, r, trunc, term, _ = e.step(int(action[i]))
            ep_ret[i] += r
            if trunc and not term:            # time limit: bootstrap from the last observation
                with torch.no_grad():
                    r += args.gamma * agent.critic(torch.tensor(ob)).item()
            rewards[step, i] = r
            next_done[i] = float(term or trunc)
            if term or trunc:
                history.append(ep_ret[i]); ep_ret[i] = 0
                ob, _ = e.reset()
            o.append(ob)
        next_obs = torch.tensor(np.stack(o))

    with torch.no_grad():
        next_value = agent.get_action_and_value(next_obs)[3]
        advantages = torch.zeros_like(rewards)
        lastgaelam = 0
        for t in reversed(range(S)):
            nextvalues = next_value if t == S - 1 else values[t + 1]
            nextnonterminal = 1.0 - (next_done if t == S - 1 else dones[t + 1])
            delta = rewards[t] + args.gamma * nextvalues * nextnonterminal - values[t]
            advantages[t] = lastgaelam = delta + args.gamma * args.gae_lambda * nextnonterminal * lastgaelam
        returns = advantages + values

    b_obs, b_act, b_logp = obs.reshape(-1, 4), actions.reshape(-1), logprobs.reshape(-1)
    b_adv, b_ret = advantages.reshape(-1), returns.reshape(-1)
    for epoch in range(args.update_epochs):
        for mb in torch.randperm(batch_size).split(batch_size // args.num_minibatches):
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_act[mb])
            logratio = newlogprob - b_logp[mb]
            ratio = logratio.exp()
            adv = b_adv[mb]
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            pg_loss = torch.max(-adv * ratio, -adv * ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)).mean()
            v_loss = 0.5 * ((newvalue - b_ret[mb]) ** 2).mean()
            loss = pg_loss - args.ent_coef * entropy.mean() + args.vf_coef * v_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
            optimizer.step()
    if update % 7 == 0 or update == num_updates:
        print(f"step {update * batch_size:6d} return(last 20) {np.mean(history[-20:]):6.1f} "
              f"v_loss {v_loss.item():8.2f} entropy {entropy.mean().item():.3f}")
print("final mean return:", np.mean(history[-20:]))
