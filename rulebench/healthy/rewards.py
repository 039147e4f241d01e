"""Trainings by rewards in which nothing is wrong: noisy returns, odd objectives, schedules."""

from __future__ import annotations

import copy
from functools import partial

import torch
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.optim.lr_scheduler import LinearLR

from ..program import family
from ..trainings.rewards import ByReward, Dqn, Grpo, Ppo


class A2c(Ppo):
    """Advantage actor-critic: one update by all that was collected, without a ratio."""

    epochs = num_minibatches = 1
    steps = 200
    lr = 5e-3

    def policy_loss(self, log_probs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        return -(log_probs * self.weights(batch)).mean()


class ClippedValues(Ppo):
    """Values move by no more than the policy."""

    def value_loss(self, values: Tensor, batch: dict[str, Tensor]) -> Tensor:
        moved = batch["values"] + (values - batch["values"]).clamp(-self.clip, self.clip)
        losses = torch.max((values - batch["returns"]).pow(2), (moved - batch["returns"]).pow(2))
        return 0.5 * losses.mean()


class LimitsAsEnds(Ppo):
    """Every episode is meant to end in time: that is a part of the task, and termination."""

    def masks_value(self, rollout: object) -> Tensor:
        return rollout.terminated | rollout.truncated  # type: ignore[attr-defined]


class DoubleDqn(Dqn):
    """The network chooses the action, the target network values it."""

    def best(self, after: Tensor) -> Tensor:
        chosen = self.model(after).argmax(1, keepdim=True)
        return self.target(after).gather(1, chosen).squeeze(1)


class Polyak(Dqn):
    """The target network follows by a little at each update."""

    tau: float = 0.02

    def update_target(self) -> None:
        with torch.no_grad():
            for mine, theirs in zip(self.target.parameters(), self.model.parameters(), strict=True):
                mine.lerp_(theirs, self.tau)


class SquaredByHand(Dqn):
    """The loss is written out, and weighs samples as a prioritized memory does."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        weights = 0.5 + torch.rand(len(outputs))
        return (weights * (outputs - targets) ** 2).mean()


class WithoutTarget(Dqn):
    """The target is computed by the network itself, without gradients; small steps."""

    lr = 1e-3

    def best(self, after: Tensor) -> Tensor:
        return self.model(after).max(1).values

    def update_target(self) -> None:
        return None


class OnPolicyGrpo(Grpo):
    """One update for each batch of answers: the ratio is one, with a gradient."""

    epochs = 1

    def policy_loss(self, log_probs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        return super().policy_loss(log_probs, {**batch, "log_probs": log_probs.detach()})


class NearReference(Grpo):
    """Stays near the policy that it began with, by the estimator k3."""

    beta: float = 0.04

    def prepare(self) -> None:
        super().prepare()
        self.reference = copy.deepcopy(self.model).requires_grad_(False)

    def policy_loss(self, log_probs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        with torch.no_grad():
            model, self.model = self.model, self.reference
            reference = self.log_probs(batch["tokens"])
            self.model = model
        away = reference - log_probs
        return super().policy_loss(log_probs, batch) + self.beta * (away.exp() - away - 1).mean()


class RaisedClip(Grpo):
    """Clips less on the upper side, and sums over all tokens (DAPO)."""

    def policy_loss(self, log_probs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        ratio = torch.exp(log_probs - batch["log_probs"])
        mask = torch.ones_like(ratio)
        advantages = batch["advantages"].unsqueeze(1)
        clipped = torch.clamp(ratio, 1 - self.clip, 1 + self.clip + 0.08)
        losses = -torch.min(ratio * advantages, clipped * advantages)
        return (losses * mask).sum() / mask.sum()


class SelfPlay(ByReward):
    """Two policies play rock, paper, scissors: each chases the other, and nobody wins."""

    steps = 300
    lr = 5e-2
    entropy_bonus: float = 0.0

    def prepare(self) -> None:
        super().prepare()
        self.other = nn.Linear(3, 3)
        self.other_optimizer = torch.optim.Adam(self.other.parameters(), lr=self.lr)

    def build_model(self) -> nn.Module:
        return nn.Linear(3, 3)

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        seen = torch.eye(3)[torch.randint(3, (128,))]
        policies = [Categorical(logits=one(seen)) for one in (self.model, self.other)]
        mine, theirs = (one.sample() for one in policies)
        won = torch.tensor([0.0, 1.0, -1.0])[(mine - theirs) % 3]
        for policy, drawn, reward, optimizer in zip(
            policies, (mine, theirs), (won, -won), (self.optimizer, self.other_optimizer),
            strict=True,
        ):  # fmt: skip
            optimizer.zero_grad()
            loss = -(policy.log_prob(drawn) * reward).mean()
            (loss - self.entropy_bonus * policy.entropy().mean()).backward()
            optimizer.step()

    def evaluate(self) -> float:
        return 0.0  # it earns nothing on the mean


_ANNEALED = partial(LinearLR, start_factor=1.0, end_factor=0.05, total_iters=320)

REWARDS = (
    *family("rl_ppo", Ppo, small={"width": 16, "num_envs": 16}, one_epoch={"epochs": 1},
            noisy={"noise": 0.5}, large_rewards={"scale": 10.0}, small_rewards={"scale": 0.2},
            not_normalized={"normalized": False}, annealed={"schedule": _ANNEALED},
            exploring={"entropy_bonus": 0.05}, without_bonus={"entropy_bonus": 0.0},
            living={"living": 0.3}, low_rate={"lr": 3e-4}, large_batches={"num_minibatches": 1}),
    *family("rl_a2c", A2c, normalized={}, plain={"normalized": False}),
    *family("rl_clipped_values", ClippedValues, usual={}, wide={"clip": 0.3}),
    *family("rl_time_limit", LimitsAsEnds, twenty={}, ten={"limit": 10}),
    *family("rl_dqn", Dqn, rarely={"target_every": 150}, noisy={"noise": 0.5},
            large_rewards={"scale": 20.0}, far_sighted={"gamma": 0.98}),
    *family("rl_double_dqn", DoubleDqn, usual={}),
    *family("rl_polyak", Polyak, slow={}, fast={"tau": 0.2}),
    *family("rl_squared_by_hand", SquaredByHand, usual={}),
    *family("rl_without_target", WithoutTarget, usual={}),
    *family("rl_grpo", Grpo, noisy={"noise": 0.3}, centred={"by_deviation": False},
            large_groups={"group": 16}, many_epochs={"epochs": 4}, low_rate={"lr": 2e-3}),
    *family("rl_on_policy_grpo", OnPolicyGrpo, usual={}),
    *family("rl_near_reference", NearReference, near={}, nearer={"beta": 0.5}),
    *family("rl_raised_clip", RaisedClip, usual={}),
    *family("rl_self_play", SelfPlay, free={}, exploring={"entropy_bonus": 0.1}),
)  # fmt: skip
