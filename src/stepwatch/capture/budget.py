"""The budget: which steps are observed in full, so that observing takes a share of the time.

What one step costs is measured, and every ``period``-th step is observed in full; of the others
only ``KEPT`` is. Nothing else changes, so rules see a run in which most was saved more rarely.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence
from time import perf_counter, thread_time

from ..errors import ConfigError
from ..formats.manifest import FULL_STATISTICS
from ..model.collection import Collection
from ..model.steps import Mode

#: The budget of plain ``stepwatch run``; hooks in scripts have none unless they are given one.
DEFAULT_SHARE = 0.03
#: The collections that are observed at every step.
KEPT = frozenset({"losses", "learning_rates", "metrics", "scalars", "tensors", "evaluations"})
#: The first steps of each mode, which are observed in full: most faults are there from the start.
FULL_STEPS = 11
# So many steps of an evaluation of other data are observed in full: a rule asks for as many.
_FULL_EVALUATIONS = 4
#: The TRAIN steps after them are observed in full until observing took so long, seconds of
#: processor time, that other work on the machine does not use up: in a small training those are
#: hundreds, and a short one is over by then.
START_S = 0.1
#: The periods to choose from; multiples of ten meet what is saved every tenth step anyway.
PERIODS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
#: This step of a mode, and that at each doubling of it, and in the middle between two, is observed
#: in full whatever the period.
LANDMARK = 50
# Of full steps that are multiples of this, more is saved by default, such as states of optimizers.
_TENTH = 10
# So many full steps are measured before the period is chosen. What training pays beside callbacks
# is not known then, so it is chosen anew after few, and eight thin ones; and after twice as many as
# before each time that follows, so that it settles, and the most from then on.
_MEASURED, _CHECKED, _MOST_MEASURED = 8, 2, 256
# So many thin steps are known of at most. Of more than a few one in eight is measured by itself.
_MOST_THIN, _FEW_THIN, _NOT_MEASURED = 2048, 64, 7
# So many steps are observed in full once a loss, of which each counts so much in the mean, rises.
_RISING_STEPS, RISING_WEIGHT = 32, 1 / 8
# What goes on being wrong is observed in full again after so many steps.
_AGAIN = 1000
# What is wrong now and then is so many times; and then in such a share of all steps.
_OFTEN, _OFTEN_SHARE = 5, 0.01
#: What a step may cost however short it is, seconds: a share of a millisecond is no evidence.
LEAST_S = 0.1e-3
# Of steps that come at once about so many are observed in full.
_MOST_AT_ONCE = 500
# What is left of the share is for what cannot be measured. As long as observing took more than the
# share and the start altogether, a smaller part is used.
_RUNNING_PART, _REPAYING_PART = 2 / 3, 1 / 3
# Training takes longer than callbacks of ours do: what they read has pushed its own data out of the
# caches, and kernels wait for each other. Full steps are compared with those between them, which
# tells how much; until then it is taken to be as much again, and never more than so many times it.
_UNSEEN, _MOST_UNSEEN = 1.0, 2.0
# What the steps between the full ones cost cannot be thinned; this part of the budget is left to
# full steps all the same.
_LEAST_ROOM = 0.25


def parse_budget(text: str) -> float | None:
    """Return the share that ``--budget`` allows, ``None`` for no limit.

    Raises:
        ConfigError: It is neither ``none`` nor a share above 0.

    Example:
        >>> parse_budget("3%"), parse_budget("0.05"), parse_budget("none")
        (0.03, 0.05, None)
    """
    if text == "none":
        return None
    number = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text)
    share = float(number[1]) / (100 if number[2] else 1) if number else 0.0
    if not 0 < share <= 1:
        raise ConfigError(
            f"--budget {text!r} must be more than 0% and at most 100%, such as 3%, or none for"
            " no limit"
        )
    return share


class _Sample:
    """All values that are appended while they are few, and later some, evenly spread over them."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._every = self._left = 1

    def append(self, value: float) -> None:
        self._left -= 1
        if self._left:
            return
        self.values.append(value)
        if len(self.values) == _MOST_THIN:
            del self.values[::2]
            self._every *= 2
        self._left = self._every


class Budget:
    """Measures what observing costs, and decides which steps are observed in full.

    Args:
        share: How much longer a training may take, relative to its own time; ``None`` for no limit.
            A step may always take ``LEAST_S`` longer.
        requested: What the user asked to save: it is saved in every step, as asked.
        background_s: Returns the processor time that our background thread took so far, seconds.
        changed: Called with a line for the user when another period is chosen.
    """

    def __init__(
        self,
        share: float | None,
        requested: Sequence[Collection] = (),
        background_s: Callable[[], float] = lambda: 0.0,
        changed: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.share = share
        self._requested = [one for one in requested if one.name not in KEPT]
        self._kinds = KEPT | {one.name for one in requested}
        #: Whether more than ``KEPT`` is saved of every step.
        self.has_requests = bool(self._requested)
        self._has_patterns = any(one.patterns for one in requested)
        self._background_s, self.changed = background_s, changed
        self._kept: dict[str, bool] = {}
        #: Every so many steps one is observed in full.
        self.period = self._least_period = 1
        # All that it was since it was first chosen, and from which step on.
        self._periods: set[int] = set()
        self._thinned_from = 0
        #: What callbacks of ours took on the training's thread, seconds.
        self.spent_s = 0.0
        self._began_at = self._ended_at = self._before_s = self._before_background_s = 0.0
        self._first_s = 0.0
        self._full_until = FULL_STEPS
        self._eval_step, self._full_eval_until = -1, 0
        self._later: dict[str, range] = {}
        # TRAIN steps that were found to be thin: from the last one asked for on,
        self._thin_from = 0
        #: and up to this one, unless something asks for full ones meanwhile.
        self.thin_until = 0
        self._not_measured = 0  # so many thin steps to come
        self._first_losses = math.inf, -math.inf  # the least and the most of the first full steps
        #: The most that the mean loss may be, or the next steps are observed in full.
        self.most_loss = -math.inf
        #: The mean loss of late; each counts ``RISING_WEIGHT`` in it.
        self.mean_loss = 0.0
        self._start_s = START_S  # what is left of it
        self._processor_s = 0.0  # of this thread, when the last step ended
        # For each reason to observe in full: when it was last given, when that began, and how often
        # it was followed.
        self._reasons: dict[str, tuple[int, int, int]] = {}
        self._measured = _MEASURED
        self._train_step = 0
        self._has_evaluated = False
        self._begin_to_measure()
        self._unseen_share: float | None = None  # relative to what callbacks take in a full step
        self._unseen_s = 0.0

    def thins(self, mode: Mode, mode_step: int) -> bool:
        """Return whether of a step only what is kept is observed; ask as it begins."""
        if mode is Mode.TRAIN and self._thin_from <= mode_step < self.thin_until:
            return True
        if mode is Mode.EVAL:
            self._eval_step = mode_step
        if mode is Mode.EVAL and not self._has_evaluated:
            # What an evaluation leaves behind, such as its mode, shows in the steps after it.
            self._has_evaluated = True
            self.observe_next_in_full("evaluated", FULL_STEPS, evaluations=0)
        if self.period == 1 or mode_step < FULL_STEPS:
            return False
        if mode is Mode.TRAIN and (
            mode_step < self._full_until
            or (self._later and any(mode_step in steps for steps in self._later.values()))
        ):
            return False
        if mode is Mode.EVAL and mode_step < self._full_eval_until:
            return False
        if _is_due(mode_step, self.period):
            return False
        if mode is Mode.TRAIN and self.period >= _TENTH and not self._later:
            self._thin_from = mode_step
            self.thin_until = mode_step - mode_step % _TENTH + _TENTH  # the next may be due
        return True

    def observe_next_in_full(
        self, reason: str = "not finite", steps: int = 10, evaluations: int = 2
    ) -> bool:
        """Have the next TRAIN and EVAL steps observed in full: training may be over.

        Where the reason goes on, as with weights that are nan, they are once in a thousand steps.

        Args:
            reason: Any word.
            steps: How many of TRAIN,
            evaluations: and how many of EVAL.

        Returns:
            Whether they are.
        """
        now = self._train_step + 1
        last, first, count = self._reasons.get(reason, (-_AGAIN, -_AGAIN, 0))
        goes_on = now - last <= 2 * steps and now - first < _AGAIN
        if goes_on or count * steps > _OFTEN * steps + _OFTEN_SHARE * now:
            self._reasons[reason] = now, first, count
            return False
        self._reasons[reason] = now, now, count + 1
        self._full_until = max(self._full_until, now + steps)
        self.thin_until = 0
        if evaluations:
            self._full_eval_until = self._eval_step + 1 + evaluations
        return True

    def observe_evaluation_in_full(self, number: int) -> bool:
        """Have the next EVAL steps observed in full, of data that were not evaluated before.

        Args:
            number: Which such data they are.

        Returns:
            Whether they are.
        """
        return self.observe_next_in_full(
            f"evaluation {number}", steps=1, evaluations=_FULL_EVALUATIONS
        )

    def observe_later_in_full(self, steps: range, reason: str = "") -> None:
        """Have some TRAIN steps to come observed in full, by which a suspicion is settled.

        Once for each reason, any of a few words.
        """
        self._later.setdefault(reason, steps)
        self.thin_until = 0

    def note_loss(self, mode_step: int, loss: float) -> None:
        """Note the loss of a TRAIN step that is over.

        As it is not finite, or has risen well above those with which the training began, the
        next steps are observed in full: these tell why.
        """
        if not math.isfinite(loss):
            self.observe_next_in_full()
            return
        if mode_step < FULL_STEPS:
            least, most = self._first_losses
            self._first_losses = least, most = min(least, loss), max(most, loss)
            self.most_loss = 2 * most - least
            self.mean_loss = loss
            return
        self.note_mean_loss(self.mean_loss + RISING_WEIGHT * (loss - self.mean_loss))

    def note_mean_loss(self, mean: float) -> None:
        """Note the mean loss of late, as it became by a finite loss."""
        self.mean_loss = mean
        if mean > self.most_loss:
            self.observe_next_in_full("loss rises", _RISING_STEPS, evaluations=0)

    def end_thin_steps(self, mode_step: int, count: int, spent_s: float) -> None:
        """Note that several thin TRAIN steps are over, which were not told one by one.

        Args:
            mode_step: The last of them.
            count: How many they are.
            spent_s: What callbacks of ours took for all, seconds.
        """
        if self.share is None:
            return
        self.spent_s += spent_s
        self._train_step, now = mode_step, perf_counter()
        own = self.spent_s - self._before_s
        self._own_s += own
        self._thin.append(own / count)
        self._rest_of_thin.append(max(0.0, now - self._ended_at - own) / count)
        self._ended_at, self._before_s = now, self.spent_s
        self._not_measured = 1  # what is not followed costs more, and is rare

    def keeps(self, tensor: str, kind: str) -> bool:
        """Return whether a tensor is observed in the steps between the full ones, too."""
        if kind in self._kinds:
            return True
        if not self._has_patterns:
            return False
        if tensor not in self._kept:
            self._kept[tensor] = any(one.holds(tensor, kind) for one in self._requested)
        return self._kept[tensor]

    def may_keep(self, kind: str) -> bool:
        """Return whether any tensor of a kind may be kept; see ``keeps``."""
        return self._has_patterns or kind in self._kinds

    def end_step(self, mode_step: int, *, is_thin: bool) -> None:
        """Note that a TRAIN step is over, and choose another period if that fits better.

        Args:
            mode_step: The step within TRAIN.
            is_thin: What ``thins`` returned for it.
        """
        if self.share is None:
            return
        self._train_step = mode_step
        now = perf_counter()
        own = self.spent_s - self._before_s
        if is_thin and self._not_measured:
            self._not_measured -= 1
            self._own_s += own
            self._ended_at, self._before_s = now, self.spent_s
            return
        background_s = self._background_s()
        if self._began_at:
            in_background = background_s - self._before_background_s
            rest = max(0.0, now - self._ended_at - own)
            full = self._full if mode_step % _TENTH else self._tenths
            (self._thin if is_thin else full).append(own)
            (self._rest_of_thin if is_thin else self._rest_of_full).append(rest)
            self._own_s += own
            self._in_background_s += in_background
            if not is_thin:
                self._unseen_s += own * (self._unseen_share or 0.0)
            if self._start_s > 0:
                own_s = own * (1 + _UNSEEN) * self._running_share(now)
                self._start_s -= own_s + in_background
            elif is_thin and len(self._thin.values) >= _FEW_THIN:
                self._not_measured = _NOT_MEASURED
        else:
            self._began_at, self._first_s = now, self.spent_s
        self._ended_at, self._before_s = now, self.spent_s
        self._before_background_s = background_s
        is_started = mode_step + 1 >= FULL_STEPS and self._start_s <= 0
        is_measured = len(self._full) + len(self._tenths) >= self._measured
        if is_started and is_measured and (self.period == 1 or len(self._thin.values) >= _MEASURED):
            is_guess = self._unseen_share is None
            self._measured = _CHECKED if is_guess else min(2 * self._measured, _MOST_MEASURED)
            self._choose(mode_step)

    def _running_share(self, now: float) -> float:
        """Return the part of the time since the last step in which this thread was running."""
        before, self._processor_s = self._processor_s, thread_time()
        took = now - self._ended_at
        return min(1.0, (self._processor_s - before) / took) if before and took > 0 else 1.0

    def cost(self) -> float | None:
        """Return what observing took so far, relative to the rest of the time; None if unknown.

        Processor time of the background thread counts as if training waited for all of it.
        """
        own_s = self.spent_s - self._first_s + self._unseen_s
        rest = self._ended_at - self._began_at - own_s
        cost_s = self.cost_s()
        return cost_s / rest if cost_s is not None and rest > 0 else None

    def cost_s(self) -> float | None:
        """Return the same in seconds; ``None`` without a budget."""
        if self.share is None:
            return None
        return self.spent_s - self._first_s + self._unseen_s + self._background_s()

    def _begin_to_measure(self) -> None:
        # Since the period was last chosen, seconds of callbacks and of the background thread.
        self._own_s = self._in_background_s = 0.0
        # Of full steps and of thin ones: what callbacks took, and the rest of the step. Of short
        # steps there are a quarter of a million thin ones until the period is chosen again.
        self._full: list[float] = []
        self._tenths: list[float] = []  # what callbacks took in full steps of which more is saved
        self._thin = _Sample()
        self._rest_of_full: list[float] = []
        self._rest_of_thin = _Sample()
        self._not_measured = 0

    def _choose(self, mode_step: int) -> None:
        assert self.share is not None
        # Of what ran in the background nobody knows for which step; training may wait for all.
        factor = 1 + (self._in_background_s / self._own_s if self._own_s else 0.0)
        of_thin, rest_of_thin = self._thin.values, self._rest_of_thin.values
        # The first steps of all do what is done once; later, what is done rarely counts, too.
        average = statistics.fmean if of_thin else statistics.median
        full = average([*self._full, *self._tenths])
        usual, tenth = (average(each) if each else full for each in (self._full, self._tenths))
        was_guess = self._unseen_share is None
        if of_thin and full > 0:
            unseen = statistics.median(self._rest_of_full) - statistics.median(rest_of_thin)
            share = min(max(unseen / full, 0.0), _MOST_UNSEEN)
            # Of few steps on a busy machine it is anything: what was measured before counts, too.
            self._unseen_share = share if was_guess else (share + (self._unseen_share or 0.0)) / 2
        unseen_share = _UNSEEN if self._unseen_share is None else self._unseen_share
        usual, tenth = (each * (factor + unseen_share) for each in (usual, tenth))
        thin = statistics.median(of_thin) * factor if of_thin else 0.0
        # A slow moment of the machine is not the training's own time.
        rests = sorted(rest_of_thin or self._rest_of_full)
        plain = rests[len(rests) // 4]
        cost_s = self.cost_s() or 0.0
        owes = cost_s > START_S + self.share * (self._ended_at - self._began_at - cost_s)
        part = _REPAYING_PART if owes else _RUNNING_PART
        allowed = max(part * self.share * plain, LEAST_S)
        room = max(allowed - thin, _LEAST_ROOM * allowed)

        def fits(period: int) -> bool:
            tenths = min(1.0, period / _TENTH)  # the share of full steps that are such
            return (tenths * tenth + (1 - tenths) * usual - thin) / period <= room

        period = max(next(filter(fits, PERIODS), PERIODS[-1]), self._least_period)
        self._begin_to_measure()
        # One rung less is what noise makes of the same cost, if that was measured before.
        rungs = PERIODS.index(period) - PERIODS.index(self.period)
        if rungs > 0 or rungs < (0 if was_guess else -1):
            self._set_period(period, mode_step)

    def come_at_once(self, count: int) -> None:
        """So many TRAIN steps are handed over at once, as the turns of a compiled loop are.

        How long each took is not known, nor is what the background thread will take for it.
        """
        wanted = min(-(-count // _MOST_AT_ONCE), PERIODS[-1])
        self._least_period = next(one for one in PERIODS if one >= wanted)
        if self.share is not None and self.period < self._least_period:
            self._set_period(self._least_period, self._train_step)

    def _set_period(self, period: int, mode_step: int) -> None:
        self.period = period
        self.thin_until = 0
        self._thinned_from = self._thinned_from or mode_step + 1
        self._periods.add(period)
        rest = ", losses at every step" if max(self._periods) > 1 else ""
        often, first = _every(self._periods), self._thinned_from
        self.changed(f"{FULL_STATISTICS} {often} from step {first} on{rest}")


def _is_due(mode_step: int, period: int) -> bool:
    """Return whether the turn of a step has come: of one in ``period``, or of a landmark.

    Scripts evaluate, log and copy target networks at each hundredth step or so. Looks that always
    met these would take them for what always is: one in four comes half a period later. Each
    doubling of ``LANDMARK`` steps is a landmark, and so is the middle between two: what becomes of
    a model shows only later, and a short training of short steps would end before the first look.

    Example:
        >>> [step for step in range(1000) if _is_due(step, 100)]
        [0, 50, 100, 150, 200, 300, 350, 400, 500, 600, 750, 800, 900]
        >>> [step for step in range(2000) if _is_due(step, 1000)]
        [0, 50, 100, 150, 200, 300, 400, 600, 800, 1000, 1200, 1600]
    """
    turn, place = divmod(mode_step, period)
    late = period // 20 * 10 if turn % 4 == 3 else 0  # a multiple of ten, too
    if place == late:
        return True
    count, rest = divmod(mode_step, LANDMARK)
    return rest == 0 and count // (count & -count) in (1, 3)  # what is left without its twos


def _every(periods: set[int]) -> str:
    """Return how often one step was observed, or how often at least and at most.

    Example:
        >>> _every({1}), _every({5}), _every({2, 5, 20}), _every({1, 10})
        ('every step', '1 step in 5', '1 step in 2 to 20', 'every step to 1 in 10')
    """
    least, most = min(periods), max(periods)
    if most == 1:
        return "every step"
    if least == 1:
        return f"every step to 1 in {most}"
    return f"1 step in {least}" + (f" to {most}" if most > least else "")
