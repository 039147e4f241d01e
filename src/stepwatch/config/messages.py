"""How messages are sent: servers, accounts and addresses that no command line should show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ConfigError
from .variables import environment

SECURITIES = ("starttls", "ssl", "none")
_PORTS = {"starttls": 587, "ssl": 465, "none": 25}


@dataclass(frozen=True, slots=True)
class MailServer:
    """A server that takes mail.

    Args:
        host: Its name.
        port: Its port; by default that of ``security``: 587, 465 or 25.
        security: ``starttls`` (the default), ``ssl`` from the first byte, or ``none``.
        user: Whom to log in as; empty for no login.
        password: The password of that user.
        sender: The address that mail is from; the user by default.

    Raises:
        ConfigError: No such security, or a password that would travel in the clear.
    """

    host: str
    port: int = 0
    security: str = "starttls"
    user: str = ""
    password: str = field(default="", repr=False)
    sender: str = ""

    def __post_init__(self) -> None:
        if self.security not in SECURITIES:
            raise ConfigError(
                f"STEPWATCH_SMTP_SECURITY must be one of {', '.join(SECURITIES)}, "
                f"got {self.security!r}"
            )
        if self.user and self.security == "none":
            raise ConfigError(
                "STEPWATCH_SMTP_USER needs STEPWATCH_SMTP_SECURITY starttls or ssl: "
                "else the password would travel in the clear"
            )
        object.__setattr__(self, "port", self.port or _PORTS[self.security])
        object.__setattr__(self, "sender", self.sender or self.user)


def mail_server(variables: Mapping[str, str] | None = None) -> MailServer:
    """Return the server that the environment names, ``$STEPWATCH_SMTP_HOST`` and its like.

    The password is in ``$STEPWATCH_SMTP_PASSWORD``, or in the file that
    ``$STEPWATCH_SMTP_PASSWORD_FILE`` names.

    Raises:
        ConfigError: There is none, or it is invalid.
    """
    variables = environment() if variables is None else variables
    given = {name: variables.get(f"STEPWATCH_SMTP_{name.upper()}", "") for name in _NAMES}
    if not given["host"]:
        raise ConfigError("no mail server is known; set STEPWATCH_SMTP_HOST")
    if given["port"] and not given["port"].isdecimal():
        raise ConfigError(f"STEPWATCH_SMTP_PORT must be a number, got {given['port']!r}")
    return MailServer(
        host=given["host"],
        port=int(given["port"] or 0),
        security=given["security"] or "starttls",
        user=given["user"],
        password=given["password"] or _content(given["password_file"]),
        sender=given["from"],
    )


def webhook_url(variables: Mapping[str, str] | None = None) -> str:
    """Return ``$STEPWATCH_WEBHOOK_URL``; empty if it is not set."""
    variables = environment() if variables is None else variables
    return variables.get("STEPWATCH_WEBHOOK_URL", "")


def notify_urls(variables: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the addresses in ``$STEPWATCH_NOTIFY_URLS``, which spaces separate; none without."""
    variables = environment() if variables is None else variables
    return tuple(variables.get("STEPWATCH_NOTIFY_URLS", "").split())


def sms_gateway(variables: Mapping[str, str] | None = None) -> str:
    """Return the address of what sends text messages, ``$STEPWATCH_SMS_URL``.

    Raises:
        ConfigError: It is not set.
    """
    variables = environment() if variables is None else variables
    url = variables.get("STEPWATCH_SMS_URL", "")
    if not url:
        raise ConfigError("no gateway for text messages is known; set STEPWATCH_SMS_URL")
    return url


_NAMES = ("host", "port", "security", "user", "password", "password_file", "from")


def _content(path: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"STEPWATCH_SMTP_PASSWORD_FILE {path}: {error.strerror}") from None
