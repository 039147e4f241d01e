"""Post a finding to a web address."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import ClassVar, Literal
from urllib.parse import urlsplit

from ..config import webhook_url
from ..errors import ConfigError
from . import Finding, Place, Tell

Format = Literal["auto", "json", "slack", "discord"]

# Discord refuses a message that is longer.
_MOST_OF_DISCORD = 2000
_HOSTS: dict[str, Format] = {
    "hooks.slack.com": "slack",
    "discord.com": "discord",
    "discordapp.com": "discord",
}


class Webhook(Tell):
    """Posts a finding as JSON.

    Args:
        url: Where to; ``$STEPWATCH_WEBHOOK_URL`` by default, for who has the address may post.
        format: ``slack``, ``discord``, or ``json`` with all there is; by the host if ``auto``.
        timeout_s: So long an answer is waited for, seconds.
    """

    at_most: ClassVar[int | None] = 50

    def __init__(self, url: str = "", format: Format = "auto", timeout_s: float = 10.0) -> None:
        url = url or webhook_url()
        if not url:
            raise ConfigError("webhook needs url=https://..., or STEPWATCH_WEBHOOK_URL")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError("webhook: url must begin with https:// or http:// and name a host")
        if not timeout_s > 0:
            raise ConfigError(f"webhook: timeout_s must be above 0, got {timeout_s}")
        self._url, self._host, self._timeout_s = url, parts.hostname, timeout_s
        self.format = format_of(parts.hostname) if format == "auto" else format

    def act(self, finding: Finding, place: Place) -> str:
        request = urllib.request.Request(
            self._url,
            data=json.dumps(self.message(finding, place)).encode(),
            headers={"Content-Type": "application/json", "User-Agent": "stepwatch"},
            method="POST",
        )
        with _OPENER.open(request, timeout=self._timeout_s) as answer:
            return f"posted to {self._host}, which answered {answer.status}"

    def message(self, finding: Finding, place: Place) -> dict[str, object]:
        """Return what is posted."""
        return message(finding, place.run, self.format)


def format_of(host: str) -> Format:
    """Return what the service at a host understands.

    Example:
        >>> format_of("hooks.slack.com"), format_of("ptb.discord.com"), format_of("example.org")
        ('slack', 'discord', 'json')
    """
    parents = [host, host.partition(".")[2]]
    return next((_HOSTS[name] for name in parents if name in _HOSTS), "json")


def message(finding: Finding, run: str, format: Format) -> dict[str, object]:
    """Return what is posted about a finding.

    Args:
        finding: It.
        run: The URL of the run.
        format: For whom.
    """
    lines = [f"{finding.severity}: {finding.headline()}", finding.remedy, run]
    text = "\n".join(filter(None, lines))
    if format == "slack":
        return {"text": text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")}
    if format == "discord":
        # What a tensor is called must not call everybody.
        return {"content": text[:_MOST_OF_DISCORD], "allowed_mentions": {"parse": []}}
    return {"text": text, "run": run, "finding": finding.to_dict()}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Takes being sent elsewhere for a failure: the message would be left behind."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)
