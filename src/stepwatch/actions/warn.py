"""Say what was found."""

from __future__ import annotations

from ..finding import Finding
from . import Action, Training


def warn(training: Training) -> Action:
    """Return an action that shows a finding and what to do about it."""

    def act(finding: Finding) -> None:
        training.say(finding.headline())
        if finding.remedy:
            training.say(f"    {finding.remedy}")

    return act
