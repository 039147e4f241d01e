"""Messages leave the machine as the services at the other end read them."""

from __future__ import annotations

import json
import os
import smtplib
import socket
import ssl
import sys
import threading
from contextlib import contextmanager
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest

from stepwatch.actions import ActionContext
from stepwatch.actions.notifications import (
    Callback,
    Command,
    Mail,
    Sms,
    Webhook,
    check_peer,
    message,
)
from stepwatch.config import MailServer, mail_server
from stepwatch.errors import ConfigError
from stepwatch.model.finding import Finding
from tests.support.actions.reacting import Scene, finding

smtp = pytest.importorskip("aiosmtpd.smtp")
controllers = pytest.importorskip("aiosmtpd.controller")
trustme = pytest.importorskip("trustme")

PLACE = ActionContext("file:///runs/a", print)
# An address of the local machine is not asked of a proxy.
LOCAL = "127.0.0.1"


@contextmanager
def web_server(status=204, location=""):
    """Serve one address; yield it and what was posted there."""
    posted = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers["Content-Length"])
            posted.append((self.path, dict(self.headers), self.rfile.read(length)))
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            """Say nothing."""

    server = HTTPServer((LOCAL, 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{LOCAL}:{server.server_port}/hook", posted
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class TestNotify:
    """By the real Apprise, to a server of ours."""

    @pytest.fixture(autouse=True)
    def notify(self):
        pytest.importorskip("apprise")
        from stepwatch.actions.services import Notify

        self.notify = Notify

    def test_each_service_gets_the_finding(self, monkeypatch):
        """The addresses stand in the environment, where none is given."""
        with web_server() as (url, posted):
            address = url.replace("http://", "json://")
            monkeypatch.setenv("STEPWATCH_NOTIFY_URLS", f"{address} {address}/second")
            told = self.notify().act(finding(remedy="lower it", severity="error"), PLACE)

        assert "sent by json, json" == told
        assert ["/hook", "/hook/second"] == [path.rstrip("/") for path, *_ in posted]
        content = json.loads(posted[0][2])
        assert "failure" == content["type"]
        assert content["message"].endswith("lower it\nfile:///runs/a")

    @pytest.mark.slow
    def test_only_the_service_that_refused_is_tried_again(self):
        with web_server() as (url, posted), web_server(500) as (other, refused):
            to = tuple(one.replace("http://", "json://") for one in (url, other))
            notes = Scene(self.notify(to)).find(finding()).notes()

        assert ["retried"] * 3 + ["failed"] == [note.outcome for note in notes]
        assert (1, 4) == (len(posted), len(refused))

    def test_an_address_of_no_service_is_an_error_that_does_not_show_it(self):
        with pytest.raises(ConfigError, match="begins with nosuch:// is none") as raised:
            self.notify(("nosuch://secret@place",))

        assert "secret" not in str(raised.value)


class TestWebhook:
    def test_the_finding_is_posted_as_json(self):
        """All of it, beside a text for people."""
        with web_server() as (url, posted):
            told = Webhook(url).act(finding(value=float("nan"), remedy="lower it"), PLACE)

        ((path, headers, body),) = posted
        content = json.loads(body)
        assert "/hook" == path
        assert "application/json" == headers["Content-Type"]
        assert finding(value=float("nan"), remedy="lower it").to_dict() == content["finding"]
        assert "file:///runs/a" == content["run"]
        assert "lower it" in content["text"]
        assert f"posted to {LOCAL}, which answered 204" == told

    def test_slack_gets_a_text_in_which_nothing_is_markup(self):
        """What Slack would read as a mention or a link is escaped."""
        told = message(finding(rule="<!channel>&co"), "runs/a", "slack")

        assert ["text"] == list(told)
        assert "&lt;!channel&gt;&amp;co" in told["text"]

    def test_discord_gets_what_it_takes_and_calls_nobody(self):
        """Not more than 2,000 characters."""
        told = message(finding(remedy="@everyone " * 999), "runs/a", "discord")

        assert 2000 == len(told["content"])
        assert {"parse": []} == told["allowed_mentions"]

    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("https://hooks.slack.com/services/T/B/x", "slack"),
            ("https://discord.com/api/webhooks/1/x", "discord"),
            ("https://ptb.discord.com/api/webhooks/1/x", "discord"),
            ("https://example.org/discord.com", "json"),
        ],
    )
    def test_the_host_says_what_it_reads(self, url, expected):
        assert expected == Webhook(url).format
        assert "json" == Webhook(url, format="json").format

    @pytest.mark.slow
    @pytest.mark.parametrize("status", [404, 500, 302])
    def test_another_answer_is_a_failure_that_is_tried_again(self, status):
        """To be sent elsewhere is one, too: the message would not go along."""
        with web_server(status, location="http://127.0.0.1:9/") as (url, posted):
            notes = Scene(Webhook(url)).find(finding()).notes()

        assert ["retried"] * 3 + ["failed"] == [note.outcome for note in notes]
        assert str(status) in notes[-1].error
        assert 4 == len(posted)

    def test_a_name_that_leads_here_gets_nothing(self, monkeypatch):
        """Who may answer for a name could make it mean this machine."""
        known = socket.getaddrinfo
        monkeypatch.setattr(
            socket, "getaddrinfo", lambda host, *rest, **more: known(LOCAL, *rest, **more)
        )
        with web_server() as (url, posted):
            hook = Webhook(url.replace(LOCAL, "hooks.example.org"))
            with pytest.raises(OSError, match=f"hooks.example.org leads to {LOCAL}"):
                hook.act(finding(), PLACE)

        assert not posted

    @pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1%eth0", "::ffff:169.254.1.1"])
    def test_what_tells_a_machine_of_itself_gets_nothing(self, address):
        """Whatever it is called by."""
        peer = SimpleNamespace(getpeername=lambda: (address, 80))
        connection = SimpleNamespace(sock=peer, host=address, close=lambda: None)
        with pytest.raises(ConnectionRefusedError, match="an address of this machine or its"):
            check_peer(connection)

    def test_the_address_stays_a_secret(self, monkeypatch):
        """Who has it may post: it comes from the environment, and is noted nowhere."""
        monkeypatch.setenv("STEPWATCH_WEBHOOK_URL", f"http://{LOCAL}:9/services/secret")
        scene = Scene(Webhook()).find(finding())
        notes = scene.notes()

        assert "failed" == notes[-1].outcome
        assert "secret" not in f"{notes}{scene.said}"


class TestSms:
    def test_a_finding_is_given_to_the_gateway(self, monkeypatch):
        """As much of it as fits into one message."""
        with web_server() as (url, posted):
            monkeypatch.setenv("STEPWATCH_SMS_URL", url)
            Sms("+4915112345678").act(Finding("loss_spike", 7, "", "x" * 500), PLACE)

        content = json.loads(posted[0][2])
        assert {"to", "text"} == content.keys()
        assert ("+4915112345678", 160) == (content["to"], len(content["text"]))

    @pytest.mark.parametrize(
        ("to", "gateway", "why"),
        [
            ("0151", "http://127.0.0.1", "to must be"),
            ("+49x", "http://127.0.0.1", "to must be"),
            ("+49151", "", "set STEPWATCH_SMS_URL"),
            ("+49151", "ftp://127.0.0.1", "must begin with https"),
        ],
    )
    def test_what_cannot_be_sent_is_refused_before_training(self, monkeypatch, to, gateway, why):
        """Numbers are international, and there must be a gateway."""
        monkeypatch.setenv("STEPWATCH_SMS_URL", gateway)
        with pytest.raises(ConfigError, match=why):
            Sms(to)


class Inbox:
    """Keeps what a mail server takes; lets in one user."""

    def __init__(self):
        self.mails = []

    async def handle_DATA(self, server, session, envelope):  # noqa: N802  its name there
        encrypted = server.transport.get_extra_info("ssl_object") is not None
        mail = message_from_bytes(envelope.content)
        self.mails.append((envelope.rcpt_tos, encrypted, bool(session.authenticated), mail))
        return "250 OK"

    @staticmethod
    def let_in(server, session, envelope, mechanism, data):
        known = data.login == b"me@example.org" and data.password == b"open sesame"
        return smtp.AuthResult(success=known, handled=False)


@contextmanager
def smtp_server(security, tmp_path, monkeypatch):
    """Serve mail; yield the port and the inbox."""
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    inbox = Inbox()
    secured = {"starttls": {"tls_context": context, "require_starttls": True,
                            "auth_required": True, "authenticator": inbox.let_in},
               "ssl": {"ssl_context": context, "auth_require_tls": False,
                       "auth_required": True, "authenticator": inbox.let_in},
               "none": {}}[security]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("socket.getfqdn", lambda *_: "localhost")
        controller = controllers.Controller(inbox, hostname="localhost", port=0, **secured)
        # Its own first look at the server would be refused by what this one asks for.
        patch.setattr(controller, "_trigger_server", lambda: look_at(controller))
        controller.start()
        try:
            yield port_of(controller), inbox
        finally:
            controller.stop(no_assert=True)


def port_of(controller):
    return controller.server.sockets[0].getsockname()[1]


def look_at(controller):
    socket.create_connection(("localhost", port_of(controller)), timeout=10).close()


class TestMail:
    @pytest.mark.parametrize("security", ["starttls", "ssl", "none"])
    def test_a_finding_is_mailed(self, security, tmp_path, monkeypatch):
        """To a real server, encrypted and logged in as the environment says."""
        with smtp_server(security, tmp_path, monkeypatch) as (port, inbox):
            monkeypatch.setenv("STEPWATCH_SMTP_HOST", "localhost")
            monkeypatch.setenv("STEPWATCH_SMTP_PORT", str(port))
            monkeypatch.setenv("STEPWATCH_SMTP_SECURITY", security)
            if security == "none":
                monkeypatch.setenv("STEPWATCH_SMTP_FROM", "me@example.org")
            else:
                (tmp_path / "password").write_text("open sesame\n")
                monkeypatch.setenv("STEPWATCH_SMTP_USER", "me@example.org")
                monkeypatch.setenv("STEPWATCH_SMTP_PASSWORD_FILE", str(tmp_path / "password"))
            told = Mail(("you@example.org", "they@example.org")).act(finding(), PLACE)

        ((to, encrypted, authenticated, mail),) = inbox.mails
        assert ["you@example.org", "they@example.org"] == to
        assert (security != "none") == encrypted == authenticated
        assert "me@example.org" == mail["From"]
        assert (
            "stepwatch: warning: Loss spike, step 7: 9 is far above 1 (loss_spike)"
            == mail["Subject"]
        )
        assert finding().to_json() in mail.get_payload(decode=True).decode()
        assert "mailed to you@example.org, they@example.org" == told

    def test_a_wrong_password_is_a_failure_without_it(self, tmp_path, monkeypatch):
        """What is raised, and so noted, does not hold the password."""
        with smtp_server("starttls", tmp_path, monkeypatch) as (port, inbox):
            monkeypatch.setenv("STEPWATCH_SMTP_HOST", "localhost")
            monkeypatch.setenv("STEPWATCH_SMTP_PORT", str(port))
            monkeypatch.setenv("STEPWATCH_SMTP_USER", "me@example.org")
            monkeypatch.setenv("STEPWATCH_SMTP_PASSWORD", "open barley")
            with pytest.raises(smtplib.SMTPAuthenticationError) as refused:
                Mail(("you@example.org",)).act(finding(), PLACE)

        assert [] == inbox.mails
        assert "barley" not in str(refused.value)

    @pytest.mark.parametrize(
        ("variables", "clear"),
        [
            ({}, "set STEPWATCH_SMTP_HOST"),
            ({"HOST": "h", "PORT": "x"}, "STEPWATCH_SMTP_PORT must be a number"),
            ({"HOST": "h", "SECURITY": "tls"}, "one of starttls, ssl, none"),
            ({"HOST": "h", "USER": "me", "SECURITY": "none"}, "travel in the clear"),
            ({"HOST": "h", "PASSWORD_FILE": "nowhere"}, "PASSWORD_FILE nowhere"),
        ],
    )
    def test_a_server_that_cannot_be_meant_is_refused(self, variables, clear):
        given = {f"STEPWATCH_SMTP_{name}": value for name, value in variables.items()}
        with pytest.raises(ConfigError, match=clear):
            mail_server(given)

    def test_a_server_has_the_port_of_its_security_and_hides_its_password(self):
        assert [587, 465, 25] == [
            MailServer("h", security=security).port for security in ("starttls", "ssl", "none")
        ]
        assert "secret" not in repr(MailServer("h", password="secret"))


class TestCommand:
    def test_it_is_told_the_finding(self, tmp_path):
        """As JSON on its standard input, and in variables."""
        script = tmp_path / "told.py"
        script.write_text(
            "import json, os, sys\n"
            "told = {k: v for k, v in os.environ.items() if k.startswith('STEPWATCH_')}\n"
            "open(sys.argv[1], 'w').write(json.dumps([json.load(sys.stdin), told]))\n"
        )
        Command(f"'{sys.executable}' '{script}' '{tmp_path / 'out put'}'").act(finding(), PLACE)

        given, variables = json.loads((tmp_path / "out put").read_text())
        assert finding().to_dict() == given
        expected = {
            "STEPWATCH_RUN": "file:///runs/a",
            "STEPWATCH_RULE": "loss_spike",
            "STEPWATCH_STEP": "7",
            "STEPWATCH_SEVERITY": "warning",
            "STEPWATCH_FINDING_ID": finding().finding_id,
        }
        assert expected.items() <= variables.items()

    def test_another_exit_status_is_a_failure(self):
        """With the last line that it wrote to standard error."""
        text = "import sys; print('first', file=sys.stderr); sys.exit('no way')"
        with pytest.raises(ChildProcessError, match="exit status 1: no way"):
            Command(f'{sys.executable} -c "{text}"').act(finding(), PLACE)

    @pytest.mark.slow
    def test_what_takes_too_long_is_killed_with_what_it_started(self, tmp_path):
        """The child of the child holds a pipe that ends when it does."""
        text = (
            "import subprocess, sys, time\n"
            f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(999)'],\n"
            f"                 stdout=open({str(tmp_path / 'pipe')!r}, 'w'))\n"
            "time.sleep(999)\n"
        )
        (tmp_path / "slow.py").write_text(text)
        os.mkfifo(tmp_path / "pipe")
        reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        with pytest.raises(TimeoutError, match="killed after"):
            Command(f"{sys.executable} {tmp_path / 'slow.py'}", timeout_s=2).act(finding(), PLACE)
        os.set_blocking(reader, True)
        assert b"" == os.read(reader, 1)
        os.close(reader)

    def test_no_such_command_is_a_failure(self):
        notes = Scene(Command("no-such-command --at-all")).find(finding()).notes()

        assert "FileNotFoundError" in notes[-1].error


class TestCallback:
    def test_the_function_is_given_the_finding(self, tmp_path):
        (tmp_path / "mine.py").write_text(
            "seen = []\ndef act(finding):\n    seen.append(finding)\n"
        )
        action = Callback(f"{tmp_path / 'mine.py'}:act")

        assert "called act" == action.act(finding(), PLACE)
        assert [finding()] == action._function.__globals__["seen"]

    def test_a_function_that_is_not_there_is_refused(self, tmp_path):
        (tmp_path / "mine.py").write_text("act = 1\n")
        with pytest.raises(ConfigError, match="has no function act"):
            Callback(f"{tmp_path / 'mine.py'}:act")
