"""What was not checked of a chain: where an earlier cause could lie that nobody looked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .chain import Chain
from .entry import RuleStatus
from .places import STAGES, Places
from .signs import earlier_rules, sign_of

NOT_JUDGED = ("NotEvaluated", "Error", "Stopped")


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Where an earlier cause of a chain could still lie.

    Args:
        could_not_judge: Rules that could have named it and could not judge, with the reason.
        not_asked: Rules that could have named it and were not asked.
        not_captured: Collections of stages before the cause of which nothing was captured.
        workers_not_seen: How many workers of the training were not seen.
    """

    could_not_judge: tuple[tuple[str, str], ...] = ()
    not_asked: tuple[str, ...] = ()
    not_captured: tuple[str, ...] = ()
    workers_not_seen: int = 0

    def lines(self, most: int = 3) -> list[str]:
        """Return it in words, naming ``most`` rules at most in a line.

        Example:
            >>> Unchecked(not_asked=("loss_input",), workers_not_seen=1).lines()
            ['not asked: loss_input', '1 worker was not seen']
        """
        told = [f"{rule} could not judge: {why}" for rule, why in self.could_not_judge[:most]]
        more = len(self.could_not_judge) - most
        told += [f"{more} more rules could not judge"] if more > 0 else []
        if self.not_asked:
            more = len(self.not_asked) - most
            also = f" and {more} more" if more > 0 else ""
            told.append(f"not asked: {', '.join(self.not_asked[:most])}{also}")
        if self.not_captured:
            told.append(f"not captured: {', '.join(self.not_captured)}")
        if self.workers_not_seen:
            are = "worker was" if self.workers_not_seen == 1 else "workers were"
            told.append(f"{self.workers_not_seen} {are} not seen")
        return told


def unchecked(
    chain: Chain,
    statuses: Sequence[RuleStatus],
    places: Places,
    *,
    workers_not_seen: int = 0,
    installed: Iterable[str] = (),
) -> Unchecked:
    """Return what was not checked of a chain.

    Args:
        chain: The chain.
        statuses: Of all rules that were asked.
        places: The tensors that were seen.
        workers_not_seen: How many workers took part of which nothing was seen.
        installed: The rules that could be asked.
    """
    earlier = earlier_rules(sign_of(chain.cause))
    asked = {status.rule for status in statuses}
    stages = range(min(places.stage(chain.cause.tensor), len(STAGES)))
    return Unchecked(
        could_not_judge=tuple(
            (status.rule, status.details)
            for status in statuses
            if status.status in NOT_JUDGED and status.rule in earlier
        ),
        not_asked=tuple(rule for rule in earlier if rule in {*installed} - asked),
        not_captured=tuple(filter(None, map(places.missing, stages))),
        workers_not_seen=workers_not_seen,
    )
