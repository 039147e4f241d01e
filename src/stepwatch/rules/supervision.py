"""The rule on which targets count, and which tokens they are."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import TensorUnavailable
from ..judge.declaration import parameter
from ..judge.rule import Findings, NotApplicable, Rule
from ..judge.step_view import StepView, TensorView
from ..model.finding import Finding
from ..numerics.measures import number
from .shared import in_a_row

Counts = npt.NDArray[np.int64]

_NUM_FIELDS, _SHIFTS_SHAPE, _SIZE = 14, (3, 2, 2, 5), 77
_SHIFTS = (-1, 0, 1, 2, 3)
_UNKNOWN = -(10**6)

#: A shift explains the targets if so many match, and of no other shift more than the second.
MATCHES, OTHERS = 0.98, 0.75
#: Of the predictions so many are the copy before a model is said to make one.
COPIED = 0.95
#: So many of the samples may have been seen before: what is known by heart is no copy.
SEEN_BEFORE = 0.5
#: Of the ends of samples so many looks are enough: the samples tell.
LOOKS_OF_ENDS = 2
#: So many samples are remembered.
MOST_SAMPLES = 1 << 17
#: Looks of each of the two windows that shares are compared of.
WINDOW = 5
#: A share is steady if that of no look is further from the whole than by this factor.
STEADY = 2.0
#: Ignored samples, and how many of the frequency that each class had if all were alike.
LEAST_IGNORED, LEAST_FREQUENCY = 10, 0.25
#: What is ignored more often than the most frequent other class is rather unlabelled.
MOST_IGNORED = 3.0
#: Of the looks so many have no targets.
LEAST_EMPTY = 0.1

REMEDIES = {
    "copies_input": "give the next tokens as targets, or, where tokens are masked, those that were"
    " there at the masked positions, and ignore the others",
    "shifted_by": "shift the targets by one position, once: in the data or in the loss",
    "ignored_class": "leave ignore_index at -100: only what is no class is to be ignored",
    "no_targets": "see why nothing is left to learn at these steps: what is cut off, masked or"
    " padded; leave such samples out",
    "share_jumped": "see what changed in the data, the mask of the targets or the padding",
    "never_a_target": "pad with a token of its own, or ignore targets by the attention mask and"
    " not by the number of the token",
}


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of the targets of one loss at one step.

    Args:
        values: As ``docs/concepts.md`` has them, shape ``[77]``.
    """

    values: Counts

    @property
    def repeated(self) -> int:
        """Calls of the loss after the first since gradients were computed."""
        return int(self.values[1])

    @property
    def targets(self) -> int:
        """Targets in all."""
        return int(self.values[2])

    @property
    def counted(self) -> int:
        """Those that are not ignored."""
        return int(self.values[3])

    @property
    def ignored(self) -> int:
        """Targets that are ignored and a class that the prediction has."""
        return int(self.values[4])

    @property
    def largest(self) -> int:
        """How often the most frequent class counts."""
        return int(self.values[5])

    @property
    def varied(self) -> int:
        """Ignored samples that differ from the first of them."""
        return int(self.values[6])

    @property
    def is_right(self) -> bool:
        """Whether nearly all predictions are right, of at least ten."""
        rows, right = int(self.values[7]), int(self.values[8])
        return rows >= 10 and right >= COPIED * rows

    @property
    def num_classes(self) -> int:
        return int(self.values[9])

    @property
    def ignore_index(self) -> int:
        return int(self.values[10])

    @property
    def of_samples(self) -> bool:
        """Whether each sample has one target."""
        return bool(self.values[11])

    @property
    def last_token(self) -> tuple[int, int, int]:
        """The last token that is no target, in how many samples, how often it is one elsewhere."""
        token, samples, elsewhere = self.values[-3:].tolist()
        return token, samples, elsewhere

    @property
    def compared(self) -> int:
        """Most targets that were compared with tokens at one shift."""
        return int(self._shifts[:, :, 1].max())

    def shifts(self) -> set[int]:
        """Return by how many positions tokens lie behind the predictions that they are targets of.

        Empty if targets are no tokens of the input, or match at several shifts, as what is
        constant does. Where the position of the first prediction is not known, and there are
        fewer targets than tokens, nothing but a copy and a shift by one is returned.
        """
        offset, is_shorter = int(self.values[13]), bool(self.values[12])
        is_known = offset != _UNKNOWN
        found: set[int] = set()
        for of_input in self._shifts:
            for axis, (matched, compared) in enumerate(of_input):
                shift = single_shift(matched, compared)
                if shift is None:
                    continue
                if is_known and axis == 0:
                    shift -= offset
                elif axis == 0 and is_shorter and shift not in (0, 1):
                    continue
                found.add(shift)
        return found

    @property
    def _shifts(self) -> Counts:
        return self.values[_NUM_FIELDS:-3].reshape(_SHIFTS_SHAPE)


def single_shift(matched: Counts, compared: Counts) -> int | None:
    """Return the only shift at which targets are tokens.

    Args:
        matched: How many match at each shift, shape ``[5]``.
        compared: Of how many.

    Returns:
        From -1 to 3; ``None`` where none explains nearly all of the targets, or others explain
        many.

    Example:
        >>> single_shift(np.array([1, 0, 60, 2, 1]), np.array([60, 64, 60, 56, 52]))
        1
    """
    shares = matched / np.maximum(compared, 1)
    best = int(shares.argmax())
    others = np.delete(shares, best)
    if shares[best] < MATCHES or (others > OTHERS).any():
        return None
    return _SHIFTS[best]


class _History:
    """What was seen of one loss of one worker."""

    def __init__(self) -> None:
        self.first: list[Look] = []
        self.last: deque[Look] = deque(maxlen=WINDOW)
        self.num_looks = self.num_empty = 0
        # Ignored, counted, the largest class, and samples that vary.
        self.ignored = np.zeros(4, np.int64)
        self.repeats = False
        self.ends: dict[int, int] = {}
        self.are_targets: set[int] = set()
        self.compared = 0

    def add(self, look: Look) -> None:
        self.num_looks += 1
        self.num_empty += not look.counted
        self.repeats |= bool(look.repeated)
        self.ignored += [look.ignored, look.counted, look.largest, look.varied]
        if look.counted and len(self.first) < WINDOW:
            self.first.append(look)
        elif look.counted:
            self.last.append(look)
        token, samples, elsewhere = look.last_token
        if elsewhere:
            self.are_targets.add(token)
        elif samples:
            self.ends[token] = self.ends.get(token, 0) + samples


class SupervisionLedger(Rule):
    """Targets that do not count, or are other tokens than they should be.

    Counted at every tenth step, of cross-entropies with classes as targets. ``copies_input``: the
    targets are the tokens at the same position, and the model copies them. ``shifted_by``: they
    are not the next tokens, but others at a fixed distance. ``ignored_class``: ``ignore_index`` is
    a class that whole samples have. ``no_targets``: at some steps no target counts.
    ``share_jumped``: suddenly many more of the targets count, or fewer. ``never_a_target``: the
    last token of samples, of a model that predicts the next one, is always left out, as where the
    end is padded with itself.
    """

    name = "supervision"
    needs = ("supervision",)
    training_only = True
    per_model = True
    sign = "loss_input"
    lacks = NotApplicable("no loss has classes as targets")

    consecutive: int = parameter(3, "Looks in a row, or in all.", at_least=2)
    min_targets: int = parameter(50, "So many targets must have been compared.", at_least=1)
    min_ratio: float = parameter(5.0, "By this factor a share of targets jumps.", above=1)
    min_samples: int = parameter(20, "Samples whose last token is left out.", at_least=1)

    def begin(self) -> None:
        self._histories: dict[tuple[str, str], _History] = {}
        self._samples: dict[str, set[int]] = {}

    def check(self, step: StepView) -> Findings:
        looks = list(_looks(step))
        if not looks:
            return
        self._evaluated = True
        all_shifts = [look.shifts() for _, look in looks]
        known: set[int] = set().union(*all_shifts)
        is_known = {worker: self._is_known(step, worker) for worker in step.workers}
        for (tensor, look), shifts in zip(looks, all_shifts, strict=True):
            history = self._histories.setdefault((tensor.worker, tensor.name), _History())
            history.add(look)
            # Several heads may predict one token each.
            shift = next(iter(shifts)) if len(known) == 1 and shifts else None
            yield from self._copied(
                step, tensor, look, shift, history, is_known=is_known[tensor.worker]
            )
            yield from self._shifted(step, tensor, shift, history)
            yield from self._ignored(step, tensor, look, history)
            yield from self._empty(step, tensor, look, history)
            yield from self._jumped(step, tensor, look, history)
            yield from self._left_out(step, tensor, look, history, is_next=shift == 1)

    def _is_known(self, step: StepView, worker: str) -> bool:
        """Return whether many of the samples were seen at looks before; remember them."""
        known = self._samples.setdefault(worker, set())
        digests: set[int] = set()
        for tensor in step.tensors("samples", worker=worker):
            if tensor.name in tensor.record.raw:
                digests.update(tensor.value().ravel().tolist())
        share = len(digests & known) / len(digests) if digests else 0.0
        if len(known) < MOST_SAMPLES:
            known |= digests
        return share > SEEN_BEFORE

    def _copied(
        self,
        step: StepView,
        tensor: TensorView,
        look: Look,
        shift: int | None,
        history: _History,
        *,
        is_known: bool,
    ) -> Findings:
        history.compared = history.compared + look.compared if shift is not None else 0
        holds = shift == 0 and look.is_right and not is_known
        key = tensor.worker, tensor.name, "copies_input"
        if self.persists(key, holds) and history.compared >= self.min_targets:
            yield self._finding(
                step,
                tensor,
                "copies_input",
                f"are the input at their own position, and the model copies it,"
                f" {in_a_row(self.consecutive, 'look')}",
                shift=0,
            )

    def _shifted(
        self, step: StepView, tensor: TensorView, shift: int | None, history: _History
    ) -> Findings:
        for by in (-1, 2, 3):
            key = tensor.worker, tensor.name, "shifted_by", by
            if self.persists(key, shift == by) and history.compared >= self.min_targets:
                where = f"{by} positions ahead" if by > 0 else "one position back"
                yield self._finding(
                    step,
                    tensor,
                    "shifted_by",
                    f"are the input {where}, and not the next tokens,"
                    f" {in_a_row(self.consecutive, 'look')}",
                    value=float(by),
                    shift=by,
                )

    def _ignored(
        self, step: StepView, tensor: TensorView, look: Look, history: _History
    ) -> Findings:
        if not (look.ignored and look.of_samples) or history.repeats:
            return
        ignored, counted, largest, varied = history.ignored.tolist()
        total = ignored + counted
        share = ignored / total
        is_class = ignored <= MOST_IGNORED * largest or look.num_classes == 2
        is_frequent = ignored >= LEAST_IGNORED and share * look.num_classes >= LEAST_FREQUENCY
        if not (is_class and is_frequent and varied and total >= self.min_targets):
            return
        if history.num_looks >= self.consecutive:
            yield self._finding(
                step,
                tensor,
                "ignored_class",
                f"of class {look.ignore_index} are ignored, {share:.1%} of {total} that were"
                f" looked at: ignore_index={look.ignore_index} is a class that samples have, and"
                " nothing is learnt of it",
                value=share,
                ignore_index=look.ignore_index,
            )

    def _empty(self, step: StepView, tensor: TensorView, look: Look, history: _History) -> Findings:
        share = history.num_empty / history.num_looks
        if look.counted or history.num_empty < self.consecutive or share < LEAST_EMPTY:
            return
        yield self._finding(
            step,
            tensor,
            "no_targets",
            f"are all ignored at {history.num_empty} of {history.num_looks} looks: there the loss"
            " is nan, or nothing is learnt",
            value=share,
            ignore_index=look.ignore_index,
        )

    def _jumped(
        self, step: StepView, tensor: TensorView, look: Look, history: _History
    ) -> Findings:
        if len(history.last) < WINDOW or not look.counted:
            return
        before, _ = _share(history.first)
        now, targets = _share([*history.last])
        shares_now = [one.counted / one.targets for one in history.last]
        is_steady = all(
            before / STEADY <= one.counted / one.targets <= before * STEADY for one in history.first
        )
        rises = all(share >= self.min_ratio * before for share in shares_now)
        falls = all(share * self.min_ratio <= before for share in shares_now)
        known = sum(one.counted for one in history.first)
        enough = known >= self.min_targets and before * targets >= self.min_targets
        if is_steady and enough and (rises or falls):
            yield self._finding(
                step,
                tensor,
                "share_jumped",
                f"count to {number(100 * now)}%, and to {number(100 * before)}% at first,"
                f" {WINDOW} looks each",
                value=now,
                threshold=before * (self.min_ratio if rises else 1 / self.min_ratio),
                share_before=before,
            )

    def _left_out(
        self, step: StepView, tensor: TensorView, look: Look, history: _History, *, is_next: bool
    ) -> Findings:
        key = tensor.worker, tensor.name, "is_next"
        token, samples, _ = look.last_token
        is_next = self.persists(key, is_next, LOOKS_OF_ENDS)
        ends = history.ends.get(token, 0)
        is_left_out = bool(samples) and token not in history.are_targets
        if is_next and is_left_out and ends >= self.min_samples:
            yield self._finding(
                step,
                tensor,
                "never_a_target",
                f"are the next tokens, but token {token} never is one that counts, though it is"
                f" the last of {ends} samples: the model does not learn when to end",
                value=float(ends),
                token=token,
            )

    def _finding(
        self,
        step: StepView,
        tensor: TensorView,
        cause: str,
        what: str,
        *,
        value: float | None = None,
        threshold: float | None = None,
        **evidence: Any,
    ) -> Finding:
        loss = tensor.name.partition("/")[2]
        return self.finding(
            step,
            tensor,
            f"the targets of {loss} {what}, up to step {step.train_step}",
            value=value,
            threshold=threshold,
            condition=f"{cause} {tensor.name}",
            remedy=REMEDIES[cause],
            evidence={"cause": cause, **evidence},
        )


def _share(looks: list[Look]) -> tuple[float, int]:
    """Return which share of the targets counts, and how many targets there are."""
    targets = sum(look.targets for look in looks)
    return sum(look.counted for look in looks) / targets, targets


def _looks(step: StepView) -> list[tuple[TensorView, Look]]:
    found = []
    for tensor in step.tensors("supervision"):
        try:
            values = np.asarray(tensor.value(), np.int64).ravel()
        except TensorUnavailable:
            continue
        if values.size == _SIZE:
            found.append((tensor, Look(values)))
    return found
