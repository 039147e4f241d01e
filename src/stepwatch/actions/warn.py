"""Say what was found."""

from __future__ import annotations

from typing import ClassVar

from . import Finding, Place, Tell


class Warn(Tell):
    """Shows a finding and what to do about it."""

    at_once: ClassVar[bool] = True

    def act(self, finding: Finding, place: Place) -> str:
        if place.hides(finding):
            return "counted, as it follows from what was shown"
        place.say(finding.headline())
        if finding.remedy:
            place.say(f"    {finding.remedy}")
        return "shown"
