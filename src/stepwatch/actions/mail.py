"""Send a finding by mail."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import ClassVar

from ..config import MailServer, mail_server
from ..errors import ConfigError
from . import Finding, Place, Tell


class Mail(Tell):
    """Sends a finding by the mail server that ``$STEPWATCH_SMTP_HOST`` and its like name.

    Args:
        to: The addresses.
        timeout_s: So long each answer of the server is waited for, seconds.
    """

    at_most: ClassVar[int | None] = 20

    def __init__(self, to: tuple[str, ...], timeout_s: float = 20.0) -> None:
        wrong = [address for address in to if "@" not in address or set(address) & set(" \r\n")]
        if wrong or not to:
            raise ConfigError(f"mail: to must be addresses such as me@example.org, got {to}")
        self._to, self._timeout_s = to, timeout_s
        self._server = mail_server()

    def act(self, finding: Finding, place: Place) -> str:
        mail = EmailMessage()
        mail["Subject"] = _one_line(f"stepwatch: {finding.severity}: {finding.headline()}")
        mail["From"] = self._server.sender or f"stepwatch@{self._server.host}"
        mail["To"] = ", ".join(self._to)
        mail["Date"], mail["Message-ID"] = formatdate(), make_msgid(domain="stepwatch.invalid")
        text = (finding.headline(), finding.remedy, f"run {place.run}", finding.to_json())
        mail.set_content("\n\n".join(filter(None, text)))
        with connect(self._server, self._timeout_s) as server:
            refused = server.send_message(mail)
        if refused:  # some of them: else it would have raised
            return f"mailed to all but {', '.join(refused)}"
        return f"mailed to {', '.join(self._to)}"


def connect(server: MailServer, timeout_s: float) -> smtplib.SMTP:
    """Return a connection to a mail server, encrypted and logged in as it says."""
    trusted = ssl.create_default_context()
    if server.security == "ssl":
        smtp: smtplib.SMTP = smtplib.SMTP_SSL(
            server.host, server.port, timeout=timeout_s, context=trusted
        )
    else:
        smtp = smtplib.SMTP(server.host, server.port, timeout=timeout_s)
    try:
        if server.security == "starttls":
            smtp.starttls(context=trusted)
        if server.user:
            smtp.login(server.user, server.password)
    except BaseException:
        smtp.close()
        raise
    return smtp


def _one_line(text: str, most: int = 200) -> str:
    return " ".join(text.split())[:most]
