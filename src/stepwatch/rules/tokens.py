"""The rule on sequences that are mostly padding."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError
from ..finding import Finding
from .checks import number
from .rule import Findings, Rule
from .scope import Selection, at_least, within
from .step_view import StepView
from .units import raw_values

TOKEN, TOKEN_COUNT = "token/", "token_count/"

# how many positions there are, and at how many each listed token stands, shape [tokens]
Counted = tuple[float, npt.NDArray[np.float64]]


class NLPSequenceRatio(Rule):
    """A token, such as padding, that stands at too many positions of the sequences of a step.

    The hook counts the most frequent tokens that embeddings are asked for; inputs that are saved in
    full and match ``tensor_regex`` are taken where it did not.

    Args:
        tensor_regex: Token ids, where they are saved in full.
        token_values: The tokens to count.
        token_thresholds_percent: A token is too frequent above this percentage of the positions;
            one for each token, or one for all.
        window: Add up so many last looks at an input instead of judging each.
    """

    name = "nlp_sequence_ratio"
    evidence = ("tokens:raw:every=10",)

    def __init__(
        self,
        tensor_regex: Sequence[str] = (".*embedding0_input_0",),
        token_values: Sequence[str] = ("0",),
        token_thresholds_percent: Sequence[str] = ("50",),
        window: int = 1,
    ) -> None:
        at_least("window", window, 1)
        self.window = window
        self._last: dict[str, deque[Counted]] = {}
        self.token_values = _numbers("token_values", token_values)
        limits = _numbers("token_thresholds_percent", token_thresholds_percent)
        if len(limits) == 1:
            limits = np.repeat(limits, len(self.token_values))
        if len(limits) != len(self.token_values):
            raise ConfigError(
                f"{len(self.token_values)} token_values and {len(limits)}"
                " token_thresholds_percent were given; give one for each token, or one for all"
            )
        for limit in limits:
            within("token_thresholds_percent", float(limit), 0, 100)
        self.token_thresholds_percent = limits
        self.tensor_regex = tuple(tensor_regex)
        self._ids = Selection((), tensor_regex, keep=lambda _, info: info.collection != "tokens")
        self._judged = False

    def check(self, step: StepView) -> Findings:
        counted: dict[str, Counted] = {}
        for name, (positions, found) in self._counted(step):
            before = counted.get(name, (0.0, 0.0))
            counted[name] = before[0] + positions, before[1] + found
        for name, count in counted.items():
            last = self._last.setdefault(name, deque(maxlen=self.window))
            last.append(count)
            if len(last) < self.window:
                continue
            self._judged = True
            positions, found = sum(one[0] for one in last), np.sum([one[1] for one in last], axis=0)
            percents = 100.0 * found / positions
            for index in np.flatnonzero(percents > self.token_thresholds_percent):
                yield self._finding(step, name, int(index), float(percents[index]), positions)

    def unevaluated(self) -> str | None:
        if self._judged:
            return None
        measured = "no token was counted, and "
        return measured + (self._ids.missing() or "no ids were saved in full")

    def _counted(self, step: StepView) -> Iterator[tuple[str, Counted]]:
        """Yield the counts of each input of each worker; full values first."""
        full = list(raw_values(step, self._ids))
        for _, name, value in full:
            if value.size:
                ids = np.rint(value.astype(np.float64)).ravel()
                found = [np.count_nonzero(ids == token) for token in self.token_values]
                yield name, (float(ids.size), np.array(found, np.float64))
        for record in () if full else step.records:
            for name in record.raw or ():
                module = name.removeprefix(TOKEN)
                total = step.tensor(TOKEN_COUNT + module, record.worker)
                if name.startswith(TOKEN) and total is not None and total.statistics.sum > 0:
                    ids, times = record.raw[name].astype(np.float64)
                    found = [times[ids == token].sum() for token in self.token_values]
                    yield name, (total.statistics.sum, np.array(found))

    def _finding(
        self, step: StepView, name: str, index: int, percent: float, positions: float
    ) -> Finding:
        token = number(self.token_values[index])
        limit = float(self.token_thresholds_percent[index])
        return Finding(
            self.name,
            step.number,
            name,
            f"{name}: token {token} stands at {number(percent)}% of {positions:.0f} positions"
            f" (> {number(limit)}%) at step {step.number}; if it is padding, so much of the work is"
            " for nothing",
            value=percent,
            threshold=limit,
            condition=f"{name} {token}",
            remedy="group sequences by length, pack several into one, or use another vocabulary",
            evidence={"token": float(self.token_values[index]), "positions": positions},
        )


def _numbers(name: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        raise ConfigError(f"{name} must be numbers separated by commas, got {texts!r}") from None
    if not len(numbers):
        raise ConfigError(f"{name} must have at least one number")
    return numbers
