"""Send a finding as a text message."""

from __future__ import annotations

import re

from ..config import sms_gateway
from ..errors import ConfigError
from . import Finding, Place
from .webhook import Webhook

_NUMBER = re.compile(r"\+\d{1,15}")
# What fits into one message of 7-bit letters.
_MOST_CHARACTERS = 160


class Sms(Webhook):
    """Posts a finding to the gateway that ``$STEPWATCH_SMS_URL`` names: JSON, ``to`` and ``text``.

    Args:
        to: The number, in the international form, such as +4915112345678.
        timeout_s: So long an answer is waited for, seconds.
    """

    def __init__(self, to: str, timeout_s: float = 10.0) -> None:
        if not _NUMBER.fullmatch(to):
            raise ConfigError(f"sms: to must be + and up to 15 digits, got {to!r}")
        super().__init__(sms_gateway(), "json", timeout_s)
        self._to = to

    def message(self, finding: Finding, place: Place) -> dict[str, object]:
        text = f"stepwatch: {finding.headline()} ({place.run})"
        return {"to": self._to, "text": text[:_MOST_CHARACTERS]}
