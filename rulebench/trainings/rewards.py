"""Trainings by rewards: PPO and DQN on points that look for a goal, GRPO on short answers.

A step is one update of the weights; what it is made of is collected when the last is used up.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.utils.data import Dataset, TensorDataset

from .training import Batch, Training

_MOVES = torch.tensor([[0.0, 0.0], [0.2, 0.0], [-0.2, 0.0], [0.0, 0.2], [0.0, -0.2]])


class Pursuit:
    """Points on a plane, each on the way to a goal of its own; they are stepped together.

    An episode terminates at the goal, and is truncated after ``limit`` steps.

    Args:
        count: How many points.
        limit: Steps of an episode at most.
        noise: Standard deviation of what is added to each reward.
        scale: Of the rewards.
        living: Reward of each step, before it is scaled.
        shaped: Rewards how much nearer a step leads, and not only the goal.
    """

    observations, actions = 4, 5

    def __init__(
        self,
        count: int,
        *,
        limit: int = 20,
        noise: float = 0.0,
        scale: float = 1.0,
        living: float = 0.0,
        shaped: bool = True,
    ) -> None:
        self.limit, self.noise, self.scale, self.living = limit, noise, scale, living
        self.shaped = shaped
        self.place, self.goal = torch.empty(count, 2), torch.empty(count, 2)
        self.age = torch.zeros(count)
        self.begin(torch.ones(count, dtype=torch.bool))

    def begin(self, ended: Tensor) -> None:
        """Begin a new episode where one has ended, bool ``[count]``."""
        count = int(ended.sum())
        self.place[ended] = 2 * torch.rand(count, 2) - 1
        self.goal[ended] = 2 * torch.rand(count, 2) - 1
        self.age[ended] = 0

    def observe(self) -> Tensor:
        """Return where the points are, and where their goals lie from there, ``[count, 4]``."""
        return torch.cat([self.place, self.goal - self.place], 1)

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Move; return rewards, what has terminated, what was truncated, and where it led."""
        before = (self.goal - self.place).norm(dim=1)
        self.place = (self.place + _MOVES[actions]).clamp(-1.2, 1.2)
        after = (self.goal - self.place).norm(dim=1)
        self.age += 1
        terminated = after < 0.25
        truncated = ~terminated & (self.age >= self.limit)
        rewards = terminated.float() + self.living + self.shaped * (before - after)
        rewards = self.scale * (rewards + self.noise * torch.randn(len(rewards)))
        reached = self.observe()
        self.begin(terminated | truncated)
        return rewards, terminated, truncated, reached


class ActorCritic(nn.Module):
    """Observations ``[batch, 4]`` to logits of actions and the value of the state."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(Pursuit.observations, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )
        self.policy, self.value = nn.Linear(width, Pursuit.actions), nn.Linear(width, 1)
        nn.init.normal_(self.policy.weight, std=0.01)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.body(observations)
        return self.policy(hidden), self.value(hidden).squeeze(-1)


class ByReward(Training):
    """Collects by itself what it trains on, and is evaluated by what it earns."""

    def load_data(self) -> tuple[Dataset[Any], Dataset[Any]]:
        return TensorDataset(torch.zeros(1)), TensorDataset(torch.zeros(1))

    def endless_batches(self) -> Iterator[Batch]:
        while True:
            yield torch.empty(0), torch.empty(0)

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        loss = self.update_loss()
        self.optimizer.zero_grad()
        loss.backward()
        self.clip_gradients()
        self.optimizer.step()
        self.after_update()

    def update_loss(self) -> Tensor:
        """Return the loss of the next update."""
        raise NotImplementedError


@dataclass
class Rollout:
    """What was collected, ``[horizon, envs, ...]`` each."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    values: Tensor
    rewards: Tensor
    terminated: Tensor
    truncated: Tensor
    reached: Tensor  # the value of where the last actions led


class Ppo(ByReward):
    """Proximal policy optimization (Schulman and others, 2017) with generalized advantages."""

    steps = 320
    lr = 3e-3
    clip_norm = 0.5
    num_envs: int = 32
    horizon: int = 16
    epochs: int = 4
    num_minibatches: int = 4
    clip: float = 0.2
    gamma: float = 0.95
    lam: float = 0.9
    entropy_bonus: float = 0.01
    value_weight: float = 0.5
    normalized: bool = True
    width: int = 32
    limit: int = 20
    noise: float = 0.0
    scale: float = 1.0
    living: float = 0.0
    shaped: bool = True

    def prepare(self) -> None:
        super().prepare()
        self.env = self.build_env(self.num_envs)
        self.waiting: list[dict[str, Tensor]] = []

    def build_env(self, count: int) -> Pursuit:
        """Return so many environments."""
        return Pursuit(
            count,
            limit=self.limit,
            noise=self.noise,
            scale=self.scale,
            living=self.living,
            shaped=self.shaped,
        )

    def build_model(self) -> nn.Module:
        return ActorCritic(self.width)

    @torch.no_grad()
    def collect(self) -> Rollout:
        """Act, and keep what came of it."""
        kept: list[tuple[Tensor, ...]] = []
        for _ in range(self.horizon):
            observations = self.env.observe()
            logits, values = self.model(observations)
            policy = Categorical(logits=logits)
            actions = policy.sample()
            rewards, terminated, truncated, reached = self.env.step(actions)
            _, value = self.model(reached)
            kept.append((observations, actions, policy.log_prob(actions), values, rewards,
                         terminated, truncated, value))  # fmt: skip
        return Rollout(*(torch.stack(each) for each in zip(*kept, strict=True)))

    def advantages(self, rollout: Rollout) -> Tensor:
        """Return how much better than usual each action was, ``[horizon, envs]``."""
        found = torch.zeros_like(rollout.rewards)
        last = torch.zeros(self.num_envs)
        for t in reversed(range(self.horizon)):
            goes_on = 1 - self.masks_value(rollout)[t].float()
            ended = (rollout.terminated | rollout.truncated)[t].float()
            delta = rollout.rewards[t] + self.gamma * goes_on * rollout.reached[t]
            last = delta - rollout.values[t] + self.gamma * self.lam * (1 - ended) * last
            found[t] = last
        return found

    def masks_value(self, rollout: Rollout) -> Tensor:
        """Return after which actions nothing more can be earned, bool."""
        return rollout.terminated

    def refill(self) -> None:
        """Collect, and cut what was collected into minibatches, once for each epoch."""
        rollout = self.collect()
        advantages = self.advantages(rollout)
        flat = {
            "observations": rollout.observations.flatten(0, 1),
            "actions": rollout.actions.flatten(),
            "log_probs": self.old_log_probs(rollout),
            "values": rollout.values.flatten(),
            "advantages": advantages.flatten(),
            "returns": (advantages + rollout.values).flatten(),
        }
        size = self.num_envs * self.horizon
        for _ in range(self.epochs):
            for chosen in torch.randperm(size).chunk(self.num_minibatches):
                self.waiting.append({name: value[chosen] for name, value in flat.items()})
        self.waiting.reverse()

    def old_log_probs(self, rollout: Rollout) -> Tensor:
        """Return the log-probabilities with which actions were drawn, flat."""
        return rollout.log_probs.flatten()

    def update_loss(self) -> Tensor:
        if not self.waiting:
            self.refill()
        batch = self.waiting.pop()
        logits, values = self.model(batch["observations"])
        policy = Categorical(logits=logits)
        log_probs = policy.log_prob(batch["actions"])
        return (
            self.policy_loss(log_probs, batch)
            + self.value_weight * self.value_loss(values, batch)
            - self.entropy_bonus * policy.entropy().mean()
        )

    def weights(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the advantages as the policy is given them, ``[batch]``."""
        advantages = batch["advantages"]
        if not self.normalized:
            return advantages
        return (advantages - advantages.mean()) / (advantages.std() + 1e-8)

    def policy_loss(self, log_probs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        """Return the loss of the policy."""
        advantages = self.weights(batch)
        ratio = (log_probs - batch["log_probs"]).exp()
        clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
        return -torch.min(ratio * advantages, clipped * advantages).mean()

    def value_loss(self, values: Tensor, batch: dict[str, Tensor]) -> Tensor:
        """Return the loss of the values."""
        return F.mse_loss(values, batch["returns"])

    @torch.no_grad()
    def evaluate(self) -> float:
        """Return the share of episodes that reach the goal."""
        env = Pursuit(64, limit=self.limit)
        reached, ended = 0, 0
        for _ in range(40):
            actions = self.model(env.observe())[0].argmax(1)
            _, terminated, truncated, _ = env.step(actions)
            reached, ended = reached + int(terminated.sum()), ended + int(truncated.sum())
        return reached / max(1, reached + ended)


class Dqn(ByReward):
    """Learns the values of actions from a memory of transitions (Mnih and others, 2015)."""

    steps = 500
    lr = 2e-3
    clip_norm = 10.0
    batch_size = 64
    num_envs: int = 8
    memory: int = 4000
    warm_up: int = 40
    gamma: float = 0.9
    target_every: int = 50
    explored: float = 0.5
    least_epsilon: float = 0.05
    width: int = 48
    limit: int = 20
    noise: float = 0.0
    scale: float = 1.0
    shaped: bool = True

    def prepare(self) -> None:
        super().prepare()
        self.env = Pursuit(
            self.num_envs,
            limit=self.limit,
            noise=self.noise,
            scale=self.scale,
            shaped=self.shaped,
        )
        self.target = copy.deepcopy(self.model).requires_grad_(False)
        self.kept: list[tuple[Tensor, ...]] = []
        for _ in range(self.warm_up):
            self.act(1.0)

    def build_model(self) -> nn.Module:
        return nn.Sequential(
            nn.Linear(Pursuit.observations, self.width), nn.ReLU(),
            nn.Linear(self.width, self.width), nn.ReLU(),
            nn.Linear(self.width, Pursuit.actions),
        )  # fmt: skip

    def epsilon(self) -> float:
        """Return the share of random actions."""
        return max(self.least_epsilon, 1 - self.step / (self.explored * self.steps))

    @torch.no_grad()
    def act(self, epsilon: float) -> None:
        """Take one step in all environments and remember it."""
        observations = self.env.observe()
        best = self.model(observations).argmax(1)
        drawn = torch.randint(Pursuit.actions, best.shape)
        actions = torch.where(torch.rand(len(best)) < epsilon, drawn, best)
        rewards, terminated, _, reached = self.env.step(actions)
        self.kept += zip(observations, actions, rewards, terminated.float(), reached, strict=True)
        del self.kept[: -self.memory]

    def draw(self) -> list[Tensor]:
        """Return transitions of the memory: states, actions, rewards, ends, next states."""
        chosen = torch.randint(len(self.kept), (self.batch_size,)).tolist()
        return [torch.stack(each) for each in zip(*(self.kept[i] for i in chosen), strict=True)]

    def update_loss(self) -> Tensor:
        self.act(self.epsilon())
        states, actions, rewards, ends, after = self.draw()
        goals = self.goals(rewards, ends, after)
        values = self.model(states).gather(1, actions[:, None]).squeeze(1)
        return self.loss(values, goals)

    def goals(self, rewards: Tensor, ends: Tensor, after: Tensor) -> Tensor:
        """Return the targets of the values, ``[batch]``."""
        with torch.no_grad():
            best = self.best(after)
        return rewards + self.gamma * (1 - ends) * best

    def best(self, after: Tensor) -> Tensor:
        """Return the value of the best action in each state."""
        return self.target(after).max(1).values

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.smooth_l1_loss(outputs, targets)

    def after_update(self) -> None:
        super().after_update()
        self.update_target()

    def update_target(self) -> None:
        """Let the target network follow."""
        if (self.step + 1) % self.target_every == 0:
            self.target.load_state_dict(self.model.state_dict())

    @torch.no_grad()
    def evaluate(self) -> float:
        """Return the share of episodes that reach the goal."""
        env = Pursuit(64, limit=self.limit)
        reached, ended = 0, 0
        for _ in range(40):
            _, terminated, truncated, _ = env.step(self.model(env.observe()).argmax(1))
            reached, ended = reached + int(terminated.sum()), ended + int(truncated.sum())
        return reached / max(1, reached + ended)


class Answers(nn.Module):
    """A prompt of tokens ``[batch, prompt]`` and what is written so far to logits of the next."""

    vocabulary = 8

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(self.vocabulary + 1, width)
        self.reader = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, self.vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.reader(self.embedding(tokens))[0])


class Grpo(ByReward):
    """Group relative policy optimization (Shao and others, 2024) of answers that can be checked.

    An answer is right where each token is the first one of the prompt; the reward is the share.
    """

    steps = 160
    lr = 1e-2
    clip_norm = 1.0
    width: int = 32
    prompts: int = 16
    group: int = 8
    prompt_length: int = 3
    length: int = 3
    epochs: int = 2
    clip: float = 0.2
    temperature: float = 1.0
    by_deviation: bool = True
    noise: float = 0.0

    def prepare(self) -> None:
        super().prepare()
        self.waiting: list[dict[str, Tensor]] = []

    def build_model(self) -> nn.Module:
        return Answers(self.width)

    def log_probs(self, tokens: Tensor) -> Tensor:
        """Return the log-probabilities of the tokens of the answers, ``[batch, length]``."""
        logits = self.model(tokens[:, :-1])[:, self.prompt_length - 1 :]
        answers = tokens[:, self.prompt_length :]
        return logits.log_softmax(-1).gather(-1, answers[..., None]).squeeze(-1)

    @torch.no_grad()
    def write(self, prompts: Tensor) -> Tensor:
        """Return the prompts with answers that were drawn."""
        tokens = prompts
        for _ in range(self.length):
            logits = self.model(tokens)[:, -1] / self.temperature
            tokens = torch.cat([tokens, Categorical(logits=logits).sample()[:, None]], 1)
        return tokens

    def reward(self, tokens: Tensor) -> Tensor:
        """Return how good answers are, ``[batch]``."""
        answers = tokens[:, self.prompt_length :]
        right = (answers == tokens[:, :1]).float().mean(1)
        return right + self.noise * torch.randn(len(right))

    def weights(self, rewards: Tensor) -> Tensor:
        """Return the advantage of each answer, ``[prompts * group]``."""
        grouped = rewards.view(-1, self.group)
        advantages = grouped - grouped.mean(1, keepdim=True)
        if self.by_deviation:
            advantages = advantages / (grouped.std(1, keepdim=True) + 1e-4)
        return advantages.flatten()

    def refill(self) -> None:
        """Write answers, and have them judged."""
        prompts = torch.randint(Answers.vocabulary, (self.prompts, self.prompt_length))
        tokens = self.write(prompts.repeat_interleave(self.group, 0))
        advantages = self.weights(self.reward(tokens))
        batch = {"tokens": tokens, "advantages": advantages, "log_probs": self.old(tokens)}
        self.waiting = [batch] * self.epochs

    @torch.no_grad()
    def old(self, tokens: Tensor) -> Tensor:
        """Return the log-probabilities before the first update, ``[batch, length]``."""
        return self.log_probs(tokens)

    def update_loss(self) -> Tensor:
        if not self.waiting:
            self.refill()
        batch = self.waiting.pop()
        return self.policy_loss(self.log_probs(batch["tokens"]), batch)

    def policy_loss(self, log_probs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        """Return the clipped loss of the policy."""
        ratio = torch.exp(log_probs - batch["log_probs"])
        advantages = batch["advantages"][:, None]
        clipped = torch.clamp(ratio, 1 - self.clip, 1 + self.clip)
        return -torch.min(ratio * advantages, clipped * advantages).mean()

    @torch.no_grad()
    def evaluate(self) -> float:
        """Return the share of right tokens."""
        prompts = torch.randint(Answers.vocabulary, (64, self.prompt_length))
        return float(Grpo.reward(self, self.write(prompts)).mean())
