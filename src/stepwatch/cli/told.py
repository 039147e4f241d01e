"""Which findings are shown by themselves while a script trains, and which are only counted."""

from __future__ import annotations

from ..finding import SEVERITIES, Finding
from ..rules.chain import chains
from ..rules.places import Places


class Told:
    """Knows which findings only follow from others that were shown.

    Such a finding is counted, unless it is more severe than all that was shown of its chain.

    Args:
        places: The tensors of the run, as far as they were seen.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._findings: list[Finding] = []
        self._shown: set[str] = set()
        self._hidden: set[str] = set()

    @property
    def num_hidden(self) -> int:
        """How many findings were only counted."""
        return len(self._hidden)

    def add(self, finding: Finding) -> None:
        """Take note of a finding."""
        self._findings.append(finding)

    def hides(self, finding: Finding) -> bool:
        """Return whether a finding is only counted; else it counts as shown from now on."""
        name = finding.finding_id
        found = (chain.findings for chain in chains(self._findings, self._places))
        chain = next(
            members for members in found if name in [member.finding_id for member in members]
        )
        shown = [SEVERITIES.index(one.severity) for one in chain if one.finding_id in self._shown]
        is_first = chain[0].finding_id == name
        hidden = not is_first and SEVERITIES.index(finding.severity) <= max(shown, default=-1)
        (self._hidden if hidden else self._shown).add(name)
        return hidden
