"""The states to which a training can go back: the last that was good, and one that may become it.

A copy is made after a step. It may be used for a finding about a later step only if there are so
many steps between them about which nothing was found: what follows from a good state is good. The
one before is kept until then, so there are at most two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...capture.control import Already
from ...errors import ConfigError, StepUnavailable
from .names import Names
from .optimizers import Optimizers
from .ranks import distributed_rank
from .training_state import Followers, TrainingState, why_no_state


@dataclass(slots=True)
class _Copy:
    step: int
    state: TrainingState
    times_used: int = 0


class GoodStates:
    """Keeps copies of the state of a training, and goes back to the last good one.

    Args:
        every: A copy is made after the first TRAIN step and each so many later.
        trusted_after: About so many steps after it nothing may have been found.
        names: Knows the models.
        optimizers: All that live.
        followers: What follows these.
        say: Shows a line.

    Raises:
        ConfigError: Several processes train together.
    """

    def __init__(
        self,
        every: int,
        trusted_after: int,
        *,
        names: Names,
        optimizers: Optimizers,
        followers: Followers,
        say: Callable[[str], None],
    ) -> None:
        self._every, self._trusted_after = every, trusted_after
        self._names, self._optimizers, self._say = names, optimizers, say
        self._followers = followers
        self._copies: list[_Copy] = []
        self._due = 0
        #: The global step after which a state was restored last; -1 for never.
        self.restored_at = -1
        self._refusal = ""
        self._check_possible()

    def after_step(self, step: int, mode_step: int, judged: int) -> None:
        """A TRAIN step is over: copy the state if that is due.

        Args:
            step: Its global number.
            mode_step: Its number within TRAIN.
            judged: The global step up to which all rules have looked.
        """
        if len(self._copies) > 1 and judged >= self._copies[1].step + self._trusted_after:
            del self._copies[0]
        if mode_step >= self._due and len(self._copies) < 2 and not self._refusal:
            self._due = mode_step + self._every
            self._copy(step)

    def restore(self, found_at: int, now: int) -> str:
        """Go back to the last state that was good before a finding.

        Args:
            found_at: The global step of the finding.
            now: The global step that is just over.

        Returns:
            What was done.

        Raises:
            ConfigError: The states of this training cannot be kept.
            StepUnavailable: There is no such state.
        """
        if found_at <= self.restored_at:
            return Already(f"already restored after step {self.restored_at}")
        self._check_possible()
        good = [c for c in self._copies if c.step + self._trusted_after < found_at]
        if not good:
            kept = ", ".join(str(copy.step) for copy in self._copies) or "none"
            raise StepUnavailable(
                f"no state is known to be good before step {found_at}; kept are those after "
                f"steps: {kept}; trusted_after is {self._trusted_after}"
            )
        chosen = good[-1]
        # The same random numbers might draw the same bad batch again, and again.
        chosen.state.put_back(self._optimizers.stepped, random=not chosen.times_used)
        chosen.times_used += 1
        self._copies = [chosen]
        self.restored_at = now
        return f"after step {now} went back to the state after step {chosen.step}"

    def _check_possible(self) -> None:
        # A process group may have been made since the last look.
        if refusal := _why_not_alone() or self._refusal:
            raise ConfigError(refusal)

    def _copy(self, step: int) -> None:
        state = self._state_now()
        if state is None:
            self._say(f"nothing can be restored: {self._refusal}")
            return
        if not state.is_finite():
            return
        if not self._copies:
            mib = state.size_bytes / 2**20
            self._say(f"keeping up to two copies of the state in memory, {mib:.1f} MiB each")
        self._copies.append(_Copy(step, state))

    def _state_now(self) -> TrainingState | None:
        """Return a copy of the state; where there can be none say why in ``_refusal``."""
        optimizers = self._optimizers.stepped
        self._refusal = _why_not_alone() or why_no_state(self._names, optimizers) or ""
        if self._refusal:
            return None
        try:
            self._followers.look(self._optimizers)
            return TrainingState(self._names, optimizers, self._followers)
        except Exception as error:  # noqa: BLE001  schedulers and optimizers of the script run
            self._refusal = f"the state cannot be copied ({type(error).__name__}: {error})"
            return None


def _why_not_alone() -> str:
    """Return why one process must not go back, empty if it is the only one."""
    _, size = distributed_rank()
    if size == 1:
        return ""
    return (
        f"{size} processes train together, and one alone must not go back; "
        "restart them from a checkpoint instead"
    )
