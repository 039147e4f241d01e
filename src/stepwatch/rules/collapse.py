"""The rule on a game of two networks that one of them has won, or that is none."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..judge.declaration import parameter
from ..judge.rule import Findings, NotApplicable, Rule
from ..judge.step_view import StepView, TensorView
from ..model.finding import Finding
from ..numerics.measures import number
from ..numerics.statistics import MAX, MIN
from .history import OptimizerPace, Series
from .shared import BINARY, of_same_loss

#: A window is judged at every so many TRAIN steps.
EVERY = 10
# On real samples, on made ones, and the generator's.
_LOSSES, _EXACT = 3, 1e-6
# What a loss is by its labels: of real samples, of made ones, of as many of both, and all three on
# one line, with labels as usual, or with those of a generator that wants its samples called made.
_REAL, _MADE, _BOTH, _GAME, _TURNED = "real", "made", "both", "game", "turned"
#: What the losses of made samples come to at least, where one wants them called 1 and one 0: both
#: are smallest, together, where the discriminator is undecided.
_LEAST: Mapping[str, float] = {**dict.fromkeys(BINARY, 2 * math.log(2)), "mse_loss": 0.5}


class GanCollapse(Rule):
    """A discriminator that tells all samples apart, or a generator that helps it to.

    Three losses of two classes whose labels are all the same belong to such a game: on real
    samples, on made ones, and that of the generator, which wants its samples called real. The
    generator's is the largest of those that want to be called real. The discriminator has won
    where, by the medians over ``window`` TRAIN steps, the others are together below
    ``max_discriminator`` and the generator's is above ``min_generator`` and does not fall: the
    gradient that reaches the generator has no information (Arjovsky and Bottou: Towards principled
    methods for training generative adversarial networks, 2017).

    ``helped``: all losses are together below ``helps`` of what they must be where two networks
    want opposite things of the same samples, so these want the same. Two optimizers update in
    a step, after a backward pass for each; losses of squares count here, too.
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
    helps: float = parameter(
        0.1, "The part of the least losses of a game that there cannot be.", between=(0, 1)
    )
    window: int = parameter(100, "TRAIN steps.", at_least=2)

    def begin(self) -> None:
        self._games: Series[str, _Game] = Series(self.window)
        self._roles: defaultdict[str, _Roles] = defaultdict(_Roles)
        self._paces: defaultdict[str, OptimizerPace] = defaultdict(OptimizerPace)
        self._in_turn: set[str] = set()  # the workers whose script trains two models in turn

    def concerns(self, step: StepView) -> bool:
        return any(one.info.function in _LEAST for one in step.tensors("losses"))

    def check(self, step: StepView) -> Findings:
        for worker in step.workers:
            self._paces[worker].add(step, worker)
            if not math.isnan(step.scalar("loop/takes_turns", worker)):
                self._in_turn.add(worker)
            game = self._roles[worker].game(step, worker)
            if game is None:
                continue
            games = self._games.add(worker, game)
            if len(games) < self.window or step.mode_step % EVERY:
                continue
            generators = np.array([one.generator for one in games])
            generator = float(np.median(generators))
            others = float(np.median([one.others for one in games]))
            together = float(np.median([one.together for one in games]))
            before, now = (np.median(half) for half in np.array_split(generators, 2))
            won = others < self.max_discriminator and generator > self.min_generator
            if won and now >= before:
                yield self._finding(step, worker, generator, others)
            are_two = self._paces[worker].are_two or worker in self._in_turn
            if are_two and together < self.helps * game.least:
                yield self._helped(step, worker, together, game.least)

    def unevaluated(self) -> str | None:
        if self._games:
            return None
        return NotApplicable("no losses of a discriminator and a generator were seen in one step")

    def _finding(self, step: StepView, worker: str, generator: float, others: float) -> Finding:
        return self.finding(
            step,
            "",
            f"the discriminator tells all samples apart, over {self.window} TRAIN steps up to step"
            f" {step.train_step}: its losses are {number(others)} together and that of the"
            f" generator is {number(generator)}, and does not fall",
            worker=worker,
            value=generator,
            threshold=self.min_generator,
            condition="won",
            remedy="lower the learning rate of the discriminator or raise that of the generator;"
            " soften its labels, or penalize its gradients",
        )

    def _helped(self, step: StepView, worker: str, together: float, least: float) -> Finding:
        return self.finding(
            step,
            "",
            f"the generator helps the discriminator instead of fooling it, over {self.window} TRAIN"
            f" steps up to step {step.train_step}: all their losses together are"
            f" {number(together)}, and at least {number(least)} where one wants made samples"
            " called real and the other fake",
            worker=worker,
            value=together,
            threshold=self.helps * least,
            condition="helped",
            remedy="give the loss of the generator the label of real samples, ones where the"
            " discriminator is trained with ones for them",
        )


@dataclass(frozen=True, slots=True)
class _Game:
    """The losses of a game at one step.

    Args:
        generator: The largest of those that want samples called real; nan where it is not known.
        others: The sum of those beside it; nan likewise.
        together: The sum of all, without what labels between 0 and 1 leave at best.
        least: What an honest game has at least: see ``_LEAST``.
    """

    generator: float
    others: float
    together: float
    least: float


class _Roles:
    """Remembers which losses of a worker have labels that are all alike.

    Labels are seen at full steps only, and losses at all.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}  # of each loss
        self._floors: dict[str, float] = {}  # and what its labels leave of it at best

    def game(self, step: StepView, worker: str) -> _Game | None:
        """Return the losses of a step, if they are those of a game."""
        parts: dict[str, list[float]] = {_REAL: [], _MADE: [], _BOTH: [], _GAME: [], _TURNED: []}
        least, floors = math.inf, 0.0
        for loss in step.tensors("losses", worker=worker):
            if loss.info.function not in _LEAST:
                continue
            label = of_same_loss(step, loss, "label")
            if label is not None:
                self._kinds[loss.name] = _kind(loss, label)
                self._floors[loss.name] = _floor(loss, label)
            kind = self._kinds.get(loss.name)
            if kind in (_GAME, _TURNED):
                total, most = loss.statistics.sum, loss.statistics.max
                known = kind == _GAME and loss.info.function in BINARY
                pair = (most, total - most) if known else (math.nan, math.nan)
                return _Game(*pair, total, _LEAST[loss.info.function])
            if kind in parts:
                count = loss.statistics.count
                parts[kind].append(loss.statistics.sum * (2 / count if kind == _BOTH else 1))
                floors += self._floors[loss.name] * (2 if kind == _BOTH else 1)
                least = min(least, _LEAST[loss.info.function])
        real, made, both = parts[_REAL], parts[_MADE], parts[_BOTH]
        one, other = len(real) + len(both), len(made) + len(both)
        if min(one, other) < 1 or one + other < _LOSSES:
            return None
        together = sum(real) + sum(made) + sum(both) - floors
        if len(real) < 2 or not made or least < _LEAST[BINARY[0]]:
            return _Game(math.nan, math.nan, together, least)
        return _Game(max(real), sum(real) - max(real) + sum(made), together, least)


def _kind(loss: TensorView, label: TensorView) -> str:
    """Return what a loss may be in a game by its labels, ``""`` for nothing."""
    least, most = label.record.statistics[label.row, [MIN, MAX]].tolist()
    count, mean = loss.statistics.count, label.statistics.mean
    if least == most and 0 <= most <= 1 and count == 1:
        return _REAL if most > 0.5 else _MADE
    # No other labels have just these means at step after step. Where one line computes several
    # losses, they are one tensor. Labels of both may be softened, by one side or by both.
    if 0 <= least < 1 / 2 < most <= 1 and count in (1, 2):
        is_of_two = abs(label.statistics.rms**2 - (least + most) * mean + least * most) < _EXACT
        return _BOTH if is_of_two and abs(mean - (least + most) / 2) < _EXACT else ""
    if (least, most) != (0, 1) or count != _LOSSES:
        return ""
    if abs(mean - 2 / _LOSSES) < _EXACT:
        return _GAME
    return _TURNED if abs(mean - 1 / _LOSSES) < _EXACT else ""


def _floor(loss: TensorView, label: TensorView) -> float:
    """Return the mean entropy of the smallest and the largest label, which no loss falls below."""
    if loss.info.function not in BINARY:
        return 0.0
    ends = label.record.statistics[label.row, [MIN, MAX]]
    shares = np.clip([ends, 1 - ends], 1e-300, 1)
    return float(-(shares * np.log(shares)).sum() / 2)
