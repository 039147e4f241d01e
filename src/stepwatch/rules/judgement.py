"""The judgement of a run: its chains, what was not checked, and the same for machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal

from .. import registry
from ..finding import Finding
from .chain import Chain, chains
from .parameters import GROUP
from .places import Places
from .unchecked import NOT_JUDGED, Unchecked, unchecked
from .watch import RuleStatus

#: Of the document of ``Judgement.to_dict``; it grows when a key changes its meaning or goes.
SCHEMA_VERSION = 1

Verdict = Literal["healthy", "findings", "not judged"]


@dataclass(frozen=True)
class Judgement:
    """What rules say of a run.

    Args:
        run: Where it lies, as whoever reads this would say.
        findings: All of them.
        statuses: Of each rule.
        places: The tensors that were seen.
        workers_not_seen: How many workers took part of which nothing was seen.
    """

    run: str
    findings: Sequence[Finding]
    statuses: Sequence[RuleStatus]
    places: Places
    workers_not_seen: int = 0

    @cached_property
    def chains(self) -> list[Chain]:
        """The findings by what they follow from, the most severe first."""
        return chains(self.findings, self.places)

    @property
    def verdict(self) -> Verdict:
        """``healthy`` only where a rule judged and none found anything."""
        if self.findings:
            return "findings"
        judged = any(status.status == "NoIssuesFound" for status in self.statuses)
        return "healthy" if judged else "not judged"

    @property
    def exit_status(self) -> int:
        """0 where nothing was found, 1 where something was."""
        return 1 if self.findings else 0

    def unchecked(self, chain: Chain) -> Unchecked:
        """Return where an earlier cause of a chain could still lie."""
        return unchecked(
            chain,
            self.statuses,
            self.places,
            workers_not_seen=self.workers_not_seen,
            installed=registry.names(GROUP),
        )

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data of JSON's types."""
        return {
            "schema_version": SCHEMA_VERSION,
            "run": self.run,
            "verdict": self.verdict,
            "exit_status": self.exit_status,
            "chains": [self._chain(chain) for chain in self.chains],
            "not_checked": [
                asdict(status) for status in self.statuses if status.status in NOT_JUDGED
            ],
            "findings": [finding.to_dict() for finding in self.findings],
            "rules": [asdict(status) for status in self.statuses],
        }

    def _chain(self, chain: Chain) -> dict[str, object]:
        return {
            "severity": chain.severity,
            "cause": chain.cause.to_dict(),
            "remedy": chain.cause.remedy,
            "confirm": chain.confirm(self.run),
            "consequences": [
                {**one.finding.to_dict(), "certain": one.certain} for one in chain.consequences
            ],
            "finding_ids": [finding.finding_id for finding in chain.findings],
            "not_checked": asdict(self.unchecked(chain)),
        }
