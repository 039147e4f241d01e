"""Faults of trainings by rewards: of the objective, of advantages, of values and their targets."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from ..program import faulty, healthy
from ..trainings.rewards import Dqn, Grpo, Ppo, Pursuit, Rollout


class PpoAscends(Ppo):
    """The sign of the objective was forgotten."""

    def policy_loss(self, log_probs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        return -super().policy_loss(log_probs, batch)


class PpoTakesLarger(Ppo):
    """The larger of both objectives: what clipping is to bound is not bounded."""

    def policy_loss(self, log_probs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        advantages = self.weights(batch)
        ratio = (log_probs - batch["log_probs"]).exp()
        clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
        return -torch.max(ratio * advantages, clipped * advantages).mean()


class PpoOtherOrder(Ppo):
    """Old log-probabilities are flattened environment by environment, actions time by time."""

    def old_log_probs(self, rollout: Rollout) -> Tensor:
        return rollout.log_probs.T.flatten()


class PpoDrawsAgain(Ppo):
    """Actions are drawn anew at the update, and their advantages are those of others."""

    def refill(self) -> None:
        super().refill()
        for batch in self.waiting:
            batch["actions"] = torch.randint_like(batch["actions"], Pursuit.actions)


class PpoOldIsNew(Ppo):
    """Old log-probabilities are computed anew at each update: nothing is ever clipped."""

    def policy_loss(self, log_probs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        return super().policy_loss(log_probs, {**batch, "log_probs": log_probs.detach()})


class PpoMeanAdvantage(Ppo):
    """The mean is taken before the policy is given the advantages, and not after."""

    normalized = False

    def weights(self, batch: dict[str, Tensor]) -> Tensor:
        return batch["advantages"].mean().expand(len(batch["advantages"]))


class PpoValueDetached(Ppo):
    """The value loss reaches no parameter: values stay what they were at first."""

    def value_loss(self, values: Tensor, batch: dict[str, Tensor]) -> Tensor:
        return super().value_loss(values.detach(), batch)


class DqnFrozenTarget(Dqn):
    """Nobody updates the target network."""

    def update_target(self) -> None:
        return None


class DqnCopiedTarget(Dqn):
    """The target network is the network itself."""

    target_every = 1


class DqnThroughTarget(Dqn):
    """The target is computed by the network itself, with gradients."""

    def goals(self, rewards: Tensor, ends: Tensor, after: Tensor) -> Tensor:
        return rewards + self.gamma * (1 - ends) * self.model(after).max(1).values


class DqnOneTransition(Dqn):
    """The memory keeps one transition."""

    memory = 1


class DqnGrows(Dqn):
    """A discount above one: values follow themselves without end."""

    gamma = 1.3
    lr = 2e-2
    target_every = 5

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(outputs, targets)


class GrpoConstantReward(Grpo):
    """Each answer is rewarded alike."""

    def reward(self, tokens: Tensor) -> Tensor:
        return torch.full((len(tokens),), 0.5)


class GrpoShiftedOld(Grpo):
    """Old log-probabilities belong to the tokens before."""

    def old(self, tokens: Tensor) -> Tensor:
        return super().old(tokens).roll(1, 1)


class GrpoAscends(Grpo):
    """The sign of the objective was forgotten."""

    def policy_loss(self, log_probs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        return -super().policy_loss(log_probs, batch)


class GrpoOtherAnswers(Grpo):
    """Advantages belong to other answers: groups are taken along the wrong axis."""

    def weights(self, rewards: Tensor) -> Tensor:
        return super().weights(rewards).view(-1, self.group).T.flatten()


class GrpoNotCentred(Grpo):
    """The reward itself, of which every answer gets some, and not how much more than usual."""

    def reward(self, tokens: Tensor) -> Tensor:
        return 1 + super().reward(tokens)

    def weights(self, rewards: Tensor) -> Tensor:
        return rewards


class GrpoHot(Grpo):
    """Answers are drawn at another temperature than they are trained at, with its probabilities."""

    temperature = 4.0

    @torch.no_grad()
    def old(self, tokens: Tensor) -> Tensor:
        logits = self.model(tokens[:, :-1])[:, self.prompt_length - 1 :] / self.temperature
        answers = tokens[:, self.prompt_length :]
        return logits.log_softmax(-1).gather(-1, answers[..., None]).squeeze(-1)


_EAGER = {"lr": 1e-2, "epochs": 10}
_BY_VALUES = {"shaped": False, "lam": 0.0}
_SPARSE = {"shaped": False, "gamma": 0.95, "num_envs": 16}
_DQN = healthy("rl_dqn_sparse", Dqn, **_SPARSE)
_PPO_EAGER = healthy("rl_ppo_eager", Ppo, **_EAGER)

REWARDS = (
    faulty("rl_ppo_ascends", "policy_objective", PpoAscends),
    faulty("rl_ppo_takes_larger", "policy_objective", PpoTakesLarger, **_EAGER, twin=_PPO_EAGER),
    faulty("rl_ppo_other_order", "old_log_probs", PpoOtherOrder),
    faulty("rl_ppo_draws_again", "old_log_probs", PpoDrawsAgain),
    faulty("rl_ppo_old_is_new", "old_log_probs", PpoOldIsNew, **_EAGER, twin=_PPO_EAGER),
    faulty("rl_ppo_mean_advantage", "advantages_wrong", PpoMeanAdvantage),
    faulty("rl_ppo_value_detached", "value_unused", PpoValueDetached, **_BY_VALUES,
           twin=healthy("rl_ppo_by_values", Ppo, **_BY_VALUES)),
    faulty("rl_ppo_value_weight_tiny", "value_unused", Ppo, value_weight=1e-6, **_BY_VALUES,
           twin=healthy("rl_ppo_by_values", Ppo, **_BY_VALUES)),
    faulty("rl_ppo_punishes_entropy", "rl_collapse", Ppo, entropy_bonus=-2.0),
    faulty("rl_ppo_rate_too_high", "learning_rate_too_high", Ppo, lr=0.3),
    faulty("rl_ppo_too_many_epochs", "too_many_updates", Ppo, epochs=80, lr=1e-2, clip_norm=None),
    faulty("rl_dqn_frozen_target", "target_network", DqnFrozenTarget, **_SPARSE, twin=_DQN),
    faulty("rl_dqn_copied_target", "target_network", DqnCopiedTarget, **_SPARSE, twin=_DQN),
    faulty("rl_dqn_through_target", "target_network", DqnThroughTarget, **_SPARSE, twin=_DQN),
    faulty("rl_dqn_one_transition", "one_transition", DqnOneTransition),
    faulty("rl_dqn_grows", "values_grow", DqnGrows),
    faulty("rl_grpo_constant_reward", "rl_collapse", GrpoConstantReward),
    faulty("rl_grpo_groups_of_one", "rl_collapse", Grpo, group=1, prompts=128, by_deviation=False),
    faulty("rl_grpo_shifted_old", "old_log_probs", GrpoShiftedOld),
    faulty("rl_grpo_ascends", "policy_objective", GrpoAscends),
    faulty("rl_grpo_not_centred", "advantages_wrong", GrpoNotCentred),
    faulty("rl_grpo_other_answers", "advantages_wrong", GrpoOtherAnswers),
    faulty("rl_grpo_hot", "old_log_probs", GrpoHot, twin=healthy("rl_grpo_hot_plain", Grpo,
           temperature=4.0)),
)  # fmt: skip
