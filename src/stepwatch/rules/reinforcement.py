"""Policies that stop exploring, and policies that are trained on what another policy did."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator

import numpy as np

from ..finding import Finding
from .checks import number
from .rule import Findings, NothingToJudge, Rule
from .scalars import First, InARow
from .scope import above, at_least, compiled, within
from .step_view import StepView, TensorView


class RlCollapse(Rule):
    """Reinforcement learning that has nothing left to learn from.

    It judges scalars that the script logs with ``hook.scalar`` or ``save_scalar``, by their name.
    ``entropy``: the entropy of the policy fell below ``min_entropy`` of what it was at first; where
    a reward is logged, only if that did not rise meanwhile, because a policy that has learnt what
    to do is sure of it. ``mismatch``: the mean of ``exp(d) - d - 1``, where d is the difference
    between the log-probabilities of trainer and rollout, is above ``max_mismatch`` (the estimator
    k3 of Schulman: Approximating KL divergence, 2020). ``reward``: rewards no longer vary, so no
    action is better than another.

    Args:
        entropy_regex: Finds itself in the name of the policy's entropy,
        reward_regex: of the mean reward,
        reward_std_regex: of the spread of rewards, within a group or a batch,
        mismatch_regex: and of the mismatch.
        min_entropy: A fraction of the entropy at first, between 0 and 1.
        max_mismatch: Above 0.
        consecutive: Looks in a row.
        warmup: Looks of which the median is what a number was at first.
        only_with_reward: Judge nothing before a reward was logged: other trainings have an entropy.
    """

    name = "rl_collapse"
    # of no collection: where nothing is logged it has nothing to judge, and says so
    needs = ()
    per_model = True

    def __init__(
        self,
        entropy_regex: str = r"(?<!cross_)(?<!attention_)entropy(?!.*(loss|coef|bonus))",
        reward_regex: str = r"(reward|return)(?!.*(std|var))",
        reward_std_regex: str = r"reward(?!.*zero).*(std|var)",
        mismatch_regex: str = r"(^|[/_])k3($|[/_])|mismatch",
        min_entropy: float = 0.2,
        max_mismatch: float = 0.01,
        consecutive: int = 10,
        warmup: int = 20,
        only_with_reward: bool = False,
    ) -> None:
        self._regexes = {
            "entropy": entropy_regex,
            "reward": reward_regex,
            "spread": reward_std_regex,
            "mismatch": mismatch_regex,
        }
        for what, regex in self._regexes.items():
            compiled(f"{what}_regex", regex)
        within("min_entropy", min_entropy, 0, 1)
        above("max_mismatch", max_mismatch, 0)
        at_least("consecutive", consecutive, 1)
        at_least("warmup", warmup, 1)
        self.min_entropy, self.max_mismatch = min_entropy, max_mismatch
        self.consecutive = consecutive
        self._first = First(warmup)
        self._in_a_row = InARow()
        self._rewards: dict[str, _Rewards] = {}
        self._warmup, self.only_with_reward = warmup, only_with_reward
        self._judged = False

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        for tensor in self._named(step, "reward"):
            rewards = self._rewards.setdefault(tensor.worker, _Rewards(self._warmup))
            rewards.add(tensor.statistics.mean)
        if self.only_with_reward and not self._rewards:
            return
        for tensor in self._named(step, "entropy"):
            yield from self._judge_entropy(step, tensor)
        for tensor in self._named(step, "mismatch"):
            yield from self._judge_mismatch(step, tensor)
        for tensor in self._named(step, "spread"):
            yield from self._judge_spread(step, tensor)

    def unevaluated(self) -> str | None:
        if self._judged:
            return None
        return NothingToJudge("no entropy of a policy, mismatch or spread of rewards was logged")

    def _named(self, step: StepView, what: str) -> Iterator[TensorView]:
        for tensor in step.tensors("scalars", "metrics"):
            if re.search(self._regexes[what], tensor.name, re.IGNORECASE):
                yield tensor

    def _judge_entropy(self, step: StepView, tensor: TensorView) -> Findings:
        self._judged = True
        now, key = tensor.statistics.mean, (tensor.worker, tensor.name)
        first = self._first.of(key, now)
        rewards = self._rewards.get(tensor.worker)
        earned = rewards is not None and rewards.rose()
        met = first > 0 and now < self.min_entropy * first and not earned
        if self._in_a_row.count(key, met) >= self.consecutive:
            yield self._finding(
                step,
                tensor,
                (now, self.min_entropy * first),
                f"the entropy of the policy is {number(now)}, less than {self.min_entropy:.0%} of"
                f" the {number(first)} at first, and the reward did not rise",
                "add an entropy bonus, lower the learning rate, or keep the policy near the one"
                " that it started from",
            )

    def _judge_mismatch(self, step: StepView, tensor: TensorView) -> Findings:
        self._judged = True
        now = tensor.statistics.mean
        met = now > self.max_mismatch
        if self._in_a_row.count((tensor.worker, tensor.name), met) >= self.consecutive:
            yield self._finding(
                step,
                tensor,
                (now, self.max_mismatch),
                f"the policy that acts is not the one that is trained: {number(now)}"
                f" (> {number(self.max_mismatch)})",
                "compute both in the same precision, weigh samples by the ratio of both, or"
                " synchronize weights more often",
            )

    def _judge_spread(self, step: StepView, tensor: TensorView) -> Findings:
        self._judged = True
        now = tensor.statistics.mean
        key = (tensor.worker, tensor.name)
        limit = 1e-6 * self._first.of(key, now)
        if self._in_a_row.count(key, now <= limit or now == 0) >= self.consecutive:
            yield self._finding(
                step,
                tensor,
                (now, 0.0 if math.isnan(limit) else limit),
                "all rewards are the same, so no action is better than another",
                "check the reward; leave out what all samples of a group solve or none does",
            )

    def _finding(
        self,
        step: StepView,
        tensor: TensorView,
        numbers: tuple[float, float],
        what: str,
        remedy: str,
    ) -> Finding:
        return Finding(
            self.name,
            step.number,
            tensor.name,
            f"{tensor.name}: {what}, {self.consecutive} looks in a row up to step {step.number}",
            worker=tensor.worker,
            value=numbers[0],
            threshold=numbers[1],
            remedy=remedy,
        )


class _Rewards:
    """The rewards at first and the last ones.

    Args:
        size: How many of each.
    """

    def __init__(self, size: int) -> None:
        self._first: list[float] = []
        self._last: deque[float] = deque(maxlen=size)
        self._size = size

    def add(self, reward: float) -> None:
        """Remember one more."""
        if len(self._first) < self._size:
            self._first.append(reward)
        self._last.append(reward)

    def rose(self) -> bool:
        """Return whether the last rewards are higher than the first by more than their noise."""
        first, last = np.array(self._first), np.array(self._last)
        error = math.sqrt((float(first.var()) + float(last.var())) / self._size)
        return float(last.mean() - first.mean()) > 3 * error
