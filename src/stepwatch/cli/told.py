"""Which findings are told by themselves while a script trains, and which are only counted."""

from __future__ import annotations

from collections.abc import Sequence

from ..finding import SEVERITIES, Finding
from ..rules.chain import chains
from ..rules.places import Places


class Told:
    """Knows which findings only follow from others that are told.

    Such a finding is counted, unless it is more severe than all that is told of its chain.

    Args:
        places: The tensors of the run, as far as they were seen.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._hidden: set[str] = set()

    @property
    def num_hidden(self) -> int:
        """How many findings are only counted."""
        return len(self._hidden)

    def add(self, finding: Finding, findings: Sequence[Finding]) -> None:
        """Decide about a finding that is news.

        Args:
            finding: It is about to be told.
            findings: All until now, with it and with others that are about to be told.
        """
        name = finding.finding_id
        chain = next(one for one in chains(findings, self._places) if finding in one.findings)
        others = [one for one in chain.findings if one.finding_id not in self._hidden | {name}]
        told = max((SEVERITIES.index(one.severity) for one in others), default=-1)
        if chain.cause.finding_id != name and SEVERITIES.index(finding.severity) <= told:
            self._hidden.add(name)

    def hides(self, finding: Finding) -> bool:
        """Return whether a finding is only counted."""
        return finding.finding_id in self._hidden
