"""Rules on trainings with nothing left to learn: a game that one network won, a sure policy."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator

import numpy as np

from ..judge.declaration import compiled, parameter
from ..judge.rule import Findings, NotApplicable, Rule
from ..judge.step_view import StepView, TensorView
from ..model.finding import Finding
from ..numerics.measures import number
from ..numerics.statistics import MAX, MIN
from .history import FirstValues, Series
from .shared import BINARY, of_same_loss

#: A window is judged at every so many TRAIN steps.
EVERY = 10
# On real samples, on made ones, and the generator's.
_LOSSES, _EXACT = 3, 1e-6


class GanCollapse(Rule):
    """A discriminator that tells all samples apart, so that the generator learns nothing.

    Three losses of two classes whose labels are all the same belong to such a game: on real
    samples, on made ones, and that of the generator, which wants its samples called real. The
    generator's is the largest of those that want to be called real. The discriminator has won
    where, by the medians over ``window`` TRAIN steps, the others are together below
    ``max_discriminator`` and the generator's is above ``min_generator`` and does not fall: the
    gradient that reaches the generator has no information (Arjovsky and Bottou: Towards principled
    methods for training generative adversarial networks, 2017).
    """

    name = "gan_collapse"
    needs = ("losses",)
    training_only = True
    per_model = True
    sign = "outcome"

    max_discriminator: float = parameter(0.05, "Nats.", above=0)
    min_generator: float = parameter(
        5.0, "Nats; a discriminator that guesses gives it 0.69.", above=0
    )
    window: int = parameter(100, "TRAIN steps.", at_least=2)

    def begin(self) -> None:
        self._games: Series[str, tuple[float, float]] = Series(self.window)

    def concerns(self, step: StepView) -> bool:
        return any(True for worker in step.workers for _ in _binary(step, worker))

    def check(self, step: StepView) -> Findings:
        for worker in step.workers:
            losses = _losses(step, worker)
            if losses is None:
                continue
            game = self._games.add(worker, losses)
            if len(game) < self.window or step.mode_step % EVERY:
                continue
            history = np.array(game)
            generator, others = np.median(history, axis=0).tolist()
            before, now = (np.median(half[:, 0]) for half in np.array_split(history, 2))
            won = others < self.max_discriminator and generator > self.min_generator
            if won and now >= before:
                yield self._finding(step, worker, generator, others)

    def unevaluated(self) -> str | None:
        if self._games:
            return None
        return NotApplicable("no losses of a discriminator and a generator were seen in one step")

    def _finding(self, step: StepView, worker: str, generator: float, others: float) -> Finding:
        return self.finding(
            step,
            "",
            f"the discriminator tells all samples apart, over {self.window} TRAIN steps up to step"
            f" {step.number}: its losses are {number(others)} together and that of the"
            f" generator is {number(generator)}, and does not fall",
            worker=worker,
            value=generator,
            threshold=self.min_generator,
            condition="won",
            remedy="lower the learning rate of the discriminator or raise that of the generator;"
            " soften its labels, or penalize its gradients",
        )


def _losses(step: StepView, worker: str) -> tuple[float, float] | None:
    """Return the loss of the generator, and those of the discriminator together, if there are."""
    found = list(_of_one_label(step, worker))
    real = [loss for is_real, loss in found if is_real]
    made = [loss for is_real, loss in found if not is_real]
    if len(real) >= 2 and made:
        return max(real), sum(real) - max(real) + sum(made)
    return next(_on_one_line(step, worker), None)


def _binary(step: StepView, worker: str) -> Iterator[tuple[TensorView, TensorView]]:
    """Yield the losses of two classes, each with its labels."""
    for loss in step.tensors("losses", worker=worker):
        label = of_same_loss(step, loss, "label")
        if label is not None and loss.info.function in BINARY:
            yield loss, label


def _on_one_line(step: StepView, worker: str) -> Iterator[tuple[float, float]]:
    """Yield the same where one line computes all three: they are one tensor of three elements."""
    for loss, label in _binary(step, worker):
        # No other labels have just this mean at step after step.
        exact = abs(label.statistics.mean - 2 / _LOSSES) < _EXACT
        if exact and loss.statistics.count == _LOSSES:
            yield loss.statistics.max, loss.statistics.sum - loss.statistics.max


def _of_one_label(step: StepView, worker: str) -> Iterator[tuple[bool, float]]:
    """Yield the losses of two classes whose labels are all alike: whether these are 1, and it."""
    for loss, label in _binary(step, worker):
        least, most = label.record.statistics[label.row, [MIN, MAX]].tolist()
        if least == most and 0 <= most <= 1:
            yield most > 0.5, loss.scalar


class RlCollapse(Rule):
    """Reinforcement learning that has nothing left to learn from.

    It judges scalars that the script logs with ``hook.scalar`` or ``save_scalar``, by their name.
    ``entropy``: the entropy of the policy fell below ``min_entropy`` of what it was at first; where
    a reward is logged, only if that did not rise meanwhile, because a policy that has learnt what
    to do is sure of it. ``mismatch``: the mean of ``exp(d) - d - 1``, where d is the difference
    between the log-probabilities of trainer and rollout, is above ``max_mismatch`` (the estimator
    k3 of Schulman: Approximating KL divergence, 2020). ``reward``: rewards no longer vary, so no
    action is better than another.
    """

    name = "rl_collapse"
    # of no collection: where nothing is logged the reason is that, and not a collection
    needs = ()
    training_only = True
    per_model = True
    sign = "outcome"
    lacks = NotApplicable("no entropy of a policy, mismatch or spread of rewards was logged")

    entropy_regex: str = parameter(
        r"(?<!cross_)(?<!attention_)entropy(?!.*(loss|coef|bonus))",
        "Finds itself in the name of the policy's entropy.",
    )
    reward_regex: str = parameter(r"(reward|return)(?!.*(std|var))", "The mean reward.")
    reward_std_regex: str = parameter(
        r"reward(?!.*zero).*(std|var)", "Of the spread of rewards, within a group or a batch."
    )
    mismatch_regex: str = parameter(
        r"(^|[/_])k3($|[/_])|mismatch", "The mismatch. Case does not matter in all four."
    )
    min_entropy: float = parameter(0.2, "A fraction of the entropy at first.", between=(0, 1))
    max_mismatch: float = parameter(0.01, "The largest mismatch that is tolerated.", above=0)
    consecutive: int = parameter(10, "Looks in a row.", at_least=1)
    warmup: int = parameter(
        20, "Looks of which the median is what a number was at first.", at_least=1
    )
    only_with_reward: bool = parameter(
        False, "Judge nothing before a reward was logged: a classifier may have an entropy, too."
    )

    def begin(self) -> None:
        self._regexes = {
            "entropy": self.entropy_regex,
            "reward": self.reward_regex,
            "spread": self.reward_std_regex,
            "mismatch": self.mismatch_regex,
        }
        for what, regex in self._regexes.items():
            compiled(f"{what}_regex", regex)
        self._first = FirstValues(self.warmup)
        self._rewards: dict[str, _Rewards] = {}
        self._warmup = self.warmup

    def concerns(self, step: StepView) -> bool:
        return any(True for what in self._regexes for _ in self._named(step, what))

    def check(self, step: StepView) -> Findings:
        for tensor in self._named(step, "reward"):
            rewards = self._rewards.setdefault(tensor.worker, _Rewards(self._warmup))
            rewards.add(tensor.statistics.mean)
        if self.only_with_reward and not self._rewards:
            return
        for tensor in self._named(step, "entropy"):
            yield from self._evaluate_entropy(step, tensor)
        for tensor in self._named(step, "mismatch"):
            yield from self._evaluate_mismatch(step, tensor)
        for tensor in self._named(step, "spread"):
            yield from self._evaluate_spread(step, tensor)

    def _named(self, step: StepView, what: str) -> Iterator[TensorView]:
        for tensor in step.tensors("scalars", "metrics"):
            if re.search(self._regexes[what], tensor.name, re.IGNORECASE):
                yield tensor

    def _evaluate_entropy(self, step: StepView, tensor: TensorView) -> Findings:
        self._evaluated = True
        now, key = tensor.statistics.mean, (tensor.worker, tensor.name)
        first = self._first.of(key, now)
        rewards = self._rewards.get(tensor.worker)
        earned = rewards is not None and rewards.rose()
        holds = first > 0 and now < self.min_entropy * first and not earned
        if self.persists(key, holds):
            yield self._finding(
                step,
                tensor,
                (now, self.min_entropy * first),
                f"the entropy of the policy is {number(now)}, less than {self.min_entropy:.0%} of"
                f" the {number(first)} at first, and the reward did not rise",
                "add an entropy bonus, lower the learning rate, or keep the policy near the one"
                " that it started from",
            )

    def _evaluate_mismatch(self, step: StepView, tensor: TensorView) -> Findings:
        self._evaluated = True
        now = tensor.statistics.mean
        holds = now > self.max_mismatch
        if self.persists((tensor.worker, tensor.name), holds):
            yield self._finding(
                step,
                tensor,
                (now, self.max_mismatch),
                f"the policy that acts is not the one that is trained: {number(now)}"
                f" (> {number(self.max_mismatch)})",
                "compute both in the same precision, weigh samples by the ratio of both, or"
                " synchronize weights more often",
            )

    def _evaluate_spread(self, step: StepView, tensor: TensorView) -> Findings:
        self._evaluated = True
        now = tensor.statistics.mean
        key = (tensor.worker, tensor.name)
        limit = 1e-6 * self._first.of(key, now)
        if self.persists(key, now <= limit or now == 0):
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
        return self.finding(
            step,
            tensor,
            f"{tensor.name}: {what}, {self.consecutive} looks in a row up to step {step.number}",
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
