"""Actions that tell somebody: call a function, run a command, send a mail, post to the web."""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import signal
import smtplib
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request
from contextlib import suppress
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from ipaddress import ip_address
from typing import ClassVar, Literal
from urllib.parse import urlsplit

from ..config import MailServer, environment, mail_server, sms_gateway, webhook_url
from ..errors import ConfigError
from ..plugins.specs import load_file
from ..runtime.process import is_loopback
from . import ActionContext, Finding, Notification


class Sender(Notification):
    """Waits for an answer, for ``timeout_s`` seconds at most."""

    at_most: ClassVar[int | None] = 50

    def __init__(self, timeout_s: float) -> None:
        if not timeout_s > 0:
            raise ConfigError(f"timeout_s must be above 0, got {timeout_s}")
        self._timeout_s = timeout_s


class Callback(Notification):
    """Calls a function with the finding.

    Args:
        python: ``path/to/file.py:function``. The file is loaded once, before training begins.
    """

    def __init__(self, python: str) -> None:
        path, colon, name = python.rpartition(":")
        if not colon:
            raise ConfigError(f"callback: python={python!r} is not path/to/file.py:function")
        function = getattr(load_file(path, kind="callback"), name, None)
        if not callable(function):
            raise ConfigError(f"callback: {path} has no function {name}")
        self._function, self._name = function, name

    def act(self, finding: Finding, context: ActionContext) -> str:  # noqa: ARG002  it is given no more
        self._function(finding)
        return f"called {self._name}"


_VARIABLES = ("finding_id", "rule", "severity", "step", "mode", "tensor", "worker", "message")


class Command(Sender):
    """Runs a command, with the finding as JSON on its standard input.

    It finds ``STEPWATCH_RUN``, ``STEPWATCH_RULE`` and the like among its variables.

    Args:
        run: The command and its arguments, quoted as for a shell; none is started.
        timeout_s: After so long it is killed, with what it has started, seconds.
    """

    def __init__(self, run: str, timeout_s: float = 60.0) -> None:
        super().__init__(timeout_s)
        try:
            self._command = shlex.split(run)
        except ValueError as error:
            raise ConfigError(f"command: run={run!r}: {error}") from None
        if not self._command:
            raise ConfigError("command needs run=COMMAND")

    def act(self, finding: Finding, context: ActionContext) -> str:
        line = finding.to_json().encode() + b"\n"
        # A file, not a pipe: what the command leaves running may hold it open.
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,  # what the script prints is the script's own
                stderr=errors,
                env={**environment(), **variables(finding, context.run)},
                start_new_session=True,  # so that all it starts can be ended
            )
            try:
                process.communicate(line, timeout=self._timeout_s)
            except subprocess.TimeoutExpired:
                raise TimeoutError(f"killed after {self._timeout_s:g} s") from None
            finally:
                _end(process)
            if process.returncode:
                errors.seek(0)
                last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
                raise ChildProcessError(": ".join([f"exit status {process.returncode}", *last]))
        return f"ran {self._command[0]}"


def variables(finding: Finding, run: str) -> dict[str, str]:
    """Return the environment variables by which a command learns of a finding.

    Example:
        >>> found = variables(Finding("loss_spike", 7, "loss/mse", "9 is far above 1"), "runs/a")
        >>> found["STEPWATCH_RULE"], found["STEPWATCH_STEP"], found["STEPWATCH_RUN"]
        ('loss_spike', '7', 'runs/a')
    """
    facts = {name: str(getattr(finding, name)).replace("\0", "") for name in _VARIABLES}
    return {f"STEPWATCH_{name.upper()}": fact for name, fact in {**facts, "run": run}.items()}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it has started, if it has not ended."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=1)


class Mail(Sender):
    """Sends a finding by the mail server that ``$STEPWATCH_SMTP_HOST`` and its like name.

    Args:
        to: The addresses.
        timeout_s: For each answer of the server.
    """

    at_most: ClassVar[int | None] = 20

    def __init__(self, to: tuple[str, ...], timeout_s: float = 20.0) -> None:
        super().__init__(timeout_s)
        wrong = [address for address in to if "@" not in address or set(address) & set(" \r\n")]
        if wrong or not to:
            raise ConfigError(f"mail: to must be addresses such as me@example.org, got {to}")
        self._to = to
        self._server = mail_server()

    def act(self, finding: Finding, context: ActionContext) -> str:
        mail = EmailMessage()
        mail["Subject"] = _one_line(f"stepwatch: {finding.severity}: {finding.headline()}")
        mail["From"] = self._server.sender or f"stepwatch@{self._server.host}"
        mail["To"] = ", ".join(self._to)
        mail["Date"], mail["Message-ID"] = formatdate(), make_msgid(domain="stepwatch.invalid")
        text = (finding.headline(), finding.remedy, f"run {context.run}", finding.to_json())
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


Format = Literal["auto", "json", "slack", "discord"]

# Discord refuses a message that is longer.
_MOST_OF_DISCORD = 2000
_HOSTS: dict[str, Format] = {
    "hooks.slack.com": "slack",
    "discord.com": "discord",
    "discordapp.com": "discord",
}


class Webhook(Sender):
    """Posts a finding as JSON.

    Args:
        url: Where to; ``$STEPWATCH_WEBHOOK_URL`` by default, for who has the address may post.
        format: ``slack``, ``discord``, or ``json`` with all there is; by the host if ``auto``.
        timeout_s: For the answer.
    """

    def __init__(self, url: str = "", format: Format = "auto", timeout_s: float = 10.0) -> None:
        super().__init__(timeout_s)
        url = url or webhook_url()
        if not url:
            raise ConfigError("webhook needs url=https://..., or STEPWATCH_WEBHOOK_URL")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError("webhook: url must begin with https:// or http:// and name a host")
        self._url, self._host = url, parts.hostname
        self.format = format_of(parts.hostname) if format == "auto" else format

    def act(self, finding: Finding, context: ActionContext) -> str:
        request = urllib.request.Request(
            self._url,
            data=json.dumps(self.message(finding, context)).encode(),
            headers={"Content-Type": "application/json", "User-Agent": "stepwatch"},
            method="POST",
        )
        with _OPENER.open(request, timeout=self._timeout_s) as answer:
            return f"posted to {self._host}, which answered {answer.status}"

    def message(self, finding: Finding, context: ActionContext) -> dict[str, object]:
        """Return what is posted."""
        return message(finding, context.run, self.format)


def format_of(host: str) -> Format:
    """Return what the service at a host understands.

    Example:
        >>> format_of("hooks.slack.com"), format_of("ptb.discord.com"), format_of("example.org")
        ('slack', 'discord', 'json')
    """
    parents = [host, host.partition(".")[2]]
    return next((_HOSTS[name] for name in parents if name in _HOSTS), "json")


def message(finding: Finding, run: str, format: Format) -> dict[str, object]:
    """Return what is posted about a finding of a run, in the format of a service."""
    lines = [f"{finding.severity}: {finding.headline()}", finding.remedy, run]
    text = "\n".join(filter(None, lines))
    if format == "slack":
        return {"text": text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")}
    if format == "discord":
        # What a tensor is called must not call everybody.
        return {"content": text[:_MOST_OF_DISCORD], "allowed_mentions": {"parse": []}}
    return {"text": text, "run": run, "finding": finding.to_dict()}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Fails where a server redirects: the message would not be sent along."""

    def redirect_request(self, *_: object) -> None:
        return None


def check_peer(connection: http.client.HTTPConnection) -> None:
    """Refuse a name that leads to this machine or its cloud's metadata, before anything is sent.

    Who names this machine itself, such as by ``localhost``, means it.
    """
    address = ip_address(connection.sock.getpeername()[0].partition("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    if address.is_link_local or (address.is_loopback and not is_loopback(connection.host)):
        connection.close()
        raise ConnectionRefusedError(
            f"{connection.host} leads to {address}, an address of this machine or its surroundings"
        )


class _Connection(http.client.HTTPConnection):
    def connect(self) -> None:
        super().connect()
        check_peer(self)


class _SafeConnection(http.client.HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        check_peer(self)


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, req)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SafeConnection, req)


_OPENER = urllib.request.build_opener(_NoRedirect, _Http, _Https)


_NUMBER = re.compile(r"\+\d{1,15}")
# What fits into one message of 7-bit letters.
_MOST_CHARACTERS = 160


class Sms(Webhook):
    """Posts a finding to the gateway that ``$STEPWATCH_SMS_URL`` names: JSON, ``to`` and ``text``.

    Args:
        to: The number, in the international form, such as +4915112345678.
        timeout_s: For the answer.
    """

    def __init__(self, to: str, timeout_s: float = 10.0) -> None:
        if not _NUMBER.fullmatch(to):
            raise ConfigError(f"sms: to must be + and up to 15 digits, got {to!r}")
        super().__init__(sms_gateway(), "json", timeout_s)
        self._to = to

    def message(self, finding: Finding, context: ActionContext) -> dict[str, object]:
        text = f"stepwatch: {finding.headline()} ({context.run})"
        return {"to": self._to, "text": text[:_MOST_CHARACTERS]}
