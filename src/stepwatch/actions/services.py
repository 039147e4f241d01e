"""The action that sends a message by one of the many services that Apprise knows."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from ..config import notify_urls
from ..errors import ConfigError
from ..plugins.registry import require
from . import ActionContext, Finding, Notification

_TYPES = {"info": "info", "warning": "warning", "error": "failure"}


class Notify(Notification):
    """Sends a finding to chats, phones and mailboxes, by the services that Apprise knows.

    Args:
        to: Addresses as Apprise has them, such as ``slack://…``; ``$STEPWATCH_NOTIFY_URLS`` by
            default, for most hold a secret.
    """

    at_most: ClassVar[int | None] = 50

    def __init__(self, to: tuple[str, ...] = ()) -> None:
        addresses = to or notify_urls()
        if not addresses:
            raise ConfigError("notify needs to=ADDRESS, or STEPWATCH_NOTIFY_URLS")
        self._apprise: Any = require("apprise", extra="notify")
        self._services = [self._service(address) for address in addresses]
        # of each finding that is not everywhere yet
        self._done: dict[str, set[int]] = {}

    def act(self, finding: Finding, context: ActionContext) -> str:
        done = self._done.setdefault(finding.finding_id, set())
        refused = []
        for number, (name, service) in enumerate(self._services):
            if number not in done:
                why = self._send(service, finding, context.run)
                if why is None:
                    done.add(number)
                else:
                    refused.append(f"{name}{why and f' ({why})'}")
        if refused:
            raise ConnectionError(f"not taken by {', '.join(refused)}")
        del self._done[finding.finding_id]
        return f"sent by {', '.join(name for name, _ in self._services)}"

    def _service(self, address: str) -> tuple[str, Any]:
        service = self._apprise.Apprise()
        name = address.partition("://")[0]
        with self._apprise.LogCapture(level=logging.CRITICAL):  # it would show the address
            is_known = service.add(address)
        if not is_known:
            raise ConfigError(f"notify: the address that begins with {name[:20]}:// is none")
        return name, service

    def _send(self, service: Any, finding: Finding, run: str) -> str | None:
        """Send a finding; return why it was refused, ``""`` if that is not known."""
        body = "\n".join(filter(None, [finding.headline(), finding.remedy, run]))
        with self._apprise.LogCapture(level=logging.WARNING, fmt="%(message)s") as said:
            is_sent = service.notify(
                title=f"stepwatch: {finding.severity}: {finding.rule}",
                body=body,
                notify_type=_TYPES[finding.severity],
                body_format="text",
            )
            lines = said.getvalue().splitlines()
        return None if is_sent else next(iter(lines), "")
