"""Who is answered, and what a request may not be."""

from __future__ import annotations

import io
import json
import tarfile

import pytest
import urllib3
from botocore.exceptions import ClientError

from stepwatch.errors import ConfigError
from stepwatch.jobs.artifacts import unpack
from stepwatch.runtime.process import is_loopback
from stepwatch_smdebug.sagemaker.app import MOST_BYTES
from tests.support.cli.commands import STEPWATCH, call
from tests.support.endless_requests import bytes_until_refused
from tests.support.jobs.sagemaker.serving import Server, request, shared

SECRET = "a-long-secret-of-this-server"
TARGET = {
    "X-Amz-Target": "SageMaker.ListTrainingJobs",
    "Content-Type": "application/x-amz-json-1.1",
}


def post(url, body=b"{}", **headers):
    """Return status and content of the answer to a request."""
    sent = {**TARGET, **{name.replace("_", "-"): value for name, value in headers.items()}}
    answer = urllib3.request("POST", url, body=body, headers=sent, retries=False)
    return answer.status, json.loads(answer.data)


class TestOnLoopback:
    def test_whoever_has_the_address_is_answered(self):
        """By each of its names; whatever the signature."""
        url = shared().url
        assert 200 == post(url)[0]
        assert 200 == post(f"{url}/")[0]
        assert 200 == post(url, Host="localhost:1")[0]
        assert 200 == post(url, Authorization="AWS4-HMAC-SHA256 nonsense")[0]

    @pytest.mark.parametrize("path", ["/", "/x", "/x/"])
    def test_another_user_of_the_machine_is_not(self, path):
        """Who knows the port alone."""
        status, told = post(shared().url.rpartition("/")[0] + path)
        assert (403, "AccessDeniedException") == (status, told["__type"])

    @pytest.mark.parametrize(
        "headers",
        [
            {"Host": "evil.example.org"},
            {"Host": "127.0.0.1.evil.org"},
            {"Host": ""},
            {"Origin": "http://evil.example.org"},
            {"Origin": "null"},
        ],
    )
    def test_web_pages_are_not(self, headers):
        """Neither by a name that was made to mean this machine, nor from another's page."""
        status, told = post(shared().url, **headers)
        assert (403, "AccessDeniedException") == (status, told["__type"])

    @pytest.mark.parametrize("method", ["GET", "OPTIONS", "PUT"])
    def test_nothing_but_requests_of_the_api(self, method):
        """So a browser that asks first is told no."""
        assert 405 == urllib3.request(method, shared().url).status

    @pytest.mark.parametrize("headers", ["long", "many"])
    def test_headers_have_an_end(self, headers):
        """Before who asks is known; whichever parser of HTTP is installed."""
        assert 0 < bytes_until_refused(shared().url, headers=headers)
        assert 200 == post(shared().url)[0]

    def test_a_body_has_an_end(self):
        """One that is too long is not read, whether it says so or not."""
        many = b"x" * (MOST_BYTES + 1)
        chunks = (many[place : place + 65536] for place in range(0, len(many), 65536))
        for body in (many, chunks):
            try:
                assert 413 == post(shared().url, body)[0]
            except urllib3.exceptions.ProtocolError:
                continue  # it was refused while we still sent
        assert 200 == post(shared().url)[0]

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            (b"{", "SerializationException"),
            (b"[" * 100_000, "SerializationException"),
            (b"[]", "SerializationException"),
            (b'{"MaxResults": true}', "SerializationException"),
            (b'{"MaxResults": 1e999}', "SerializationException"),
            (b"\xff", "SerializationException"),
            ('{"NameContains": "a"}'.encode("utf-16"), "SerializationException"),
            (b'{"NameContains": "\\ud800"}', "SerializationException"),
            (b'{"NameContains": "a\\u0000"}', "SerializationException"),
            (b'{"MaxResults": ' + b"9" * 100_000 + b"}", "SerializationException"),
            (b'{"nobody": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "SerializationException"),
            (b'{"NameContains": "__import__(\'os\')"}', "ValidationException"),
            (b'{"NameContains": null, "nobody": {"knows": 1}}', None),
        ],
    )
    def test_nonsense_is_refused_and_nothing_is_evaluated(self, body, code):
        """And others are answered as before."""
        status, told = post(shared().url, body)
        assert (200 if code is None else 400, code) == (status, told.get("__type"))

    @pytest.mark.parametrize("body", [b"Action=\xff", b"&a=1" * 2000])
    def test_a_form_that_is_none(self, body):
        """Who asks who one is sends forms."""
        status, told = post(
            shared().url, body, Content_Type="application/x-www-form-urlencoded; charset=utf-8"
        )
        assert (400, "SerializationException") == (status, told["__type"])

    def test_a_request_of_many_mistakes_names_some(self):
        """The answer is no longer than a page."""
        tags = [{"Key": "", "Value": "v" * 300}] * 2000
        body = json.dumps({"ResourceArn": "arn:aws:sagemaker:x", "Tags": tags}).encode()
        status, told = post(shared().url, body, X_Amz_Target="SageMaker.AddTags")
        assert (400, "ValidationException") == (status, told["__type"])
        assert len(told["message"]) < 20_000

    @pytest.mark.parametrize("depth", [200, 450, 900])
    def test_a_member_that_nobody_knows_may_be_nested(self, depth):
        """It is kept or refused, and never a fault of the server."""
        asked = json.dumps(request(f"nested-{depth}"))
        nested = "[" * depth + "]" * depth
        body = (asked[:-1] + f', "Nobody": {nested}}}').encode()
        status, told = post(shared().url, body, X_Amz_Target="SageMaker.CreateTrainingJob")
        refused = (400, "SerializationException")
        assert (status, told.get("__type")) in ((200, None), refused)

    def test_an_action_that_is_none(self):
        """A target is a name in a table, and nothing that is looked up elsewhere."""
        for target in ("SageMaker.__class__", "SageMaker", "", "Logs_20140328.CreateTrainingJob"):
            told = post(shared().url, X_Amz_Target=target)[1]
            assert "UnknownOperationException" == told["__type"]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server that all can reach, with a secret."""
    folder = tmp_path_factory.mktemp("guarded")
    server = Server(folder, {"STEPWATCH_TOKEN": SECRET}, host="0.0.0.0")
    server.url = server.url.replace("0.0.0.0", "127.0.0.1")
    yield server
    server.close()


class TestElsewhere:
    @pytest.mark.slow
    def test_it_does_not_listen_without_a_secret(self, tmp_path):
        """One line says what to do."""
        done = call(STEPWATCH, "serve", "--host", "0.0.0.0", "--jobs", "jobs", cwd=tmp_path)
        assert (2, 1) == (done.returncode, len(done.stderr.splitlines()))
        assert "set STEPWATCH_TOKEN to a long secret" in done.stderr
        assert [True, True, True, False, False] == [
            is_loopback(host) for host in ("127.0.0.9", "::1", "localhost", "0.0.0.0", "me.org")
        ]

    def test_who_signs_with_the_secret_is_answered(self, guarded):
        """A real client makes the signature."""
        told = guarded.client(secret=SECRET).list_training_jobs()
        assert [] == told["TrainingJobSummaries"]
        assert guarded.client("sts", secret=SECRET).get_caller_identity()["Account"]

    def test_who_signs_with_another_is_not(self, guarded):
        """It is told what is wanted."""
        with pytest.raises(ClientError, match="be signed with its secret"):
            guarded.client(secret=f"{SECRET}x").list_training_jobs()

    @pytest.mark.parametrize(
        ("said", "status"),
        [(f"Bearer {SECRET}", 200), (f"Bearer {SECRET}x", 403), ("Bearer ", 403), ("", 403)],
    )
    def test_the_secret_as_it_is(self, guarded, said, status):
        """For programs that sign nothing."""
        assert status == post(guarded.url, Authorization=said)[0]

    def test_a_signature_is_of_one_request(self, guarded):
        """Another body, or another day, makes it worth nothing."""
        client = guarded.client(secret=SECRET)
        sent = []
        client.meta.events.register("before-send", lambda request, **_: sent.append(request))
        client.list_training_jobs()
        told = {key: str(value, "ascii") if isinstance(value, bytes) else value
                for key, value in sent[0].headers.items()}  # fmt: skip
        headers = {key: value for key, value in told.items() if key != "Content-Length"}

        assert 200 == post(guarded.url, sent[0].body, **headers)[0]
        assert 403 == post(guarded.url, b'{"MaxResults": 1}', **headers)[0]
        old = {**headers, "X-Amz-Date": "20200101T000000Z"}
        assert 403 == post(guarded.url, sent[0].body, **old)[0]


class TestSources:
    def test_a_name_takes_no_memory(self, tmp_path):
        """Some kilobytes may unpack to a name of hundreds of megabytes."""
        long = self.member("././@LongLink", type=tarfile.GNUTYPE_LONGNAME, size=2 << 20)
        with pytest.raises(ConfigError, match="a name of 2,097,152 bytes"):
            unpack(self.archive(long), tmp_path, "s3://bucket/source.tar.gz")

    @staticmethod
    def archive(*members):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w:gz") as archive:
            for member in members:
                archive.addfile(member, io.BytesIO(b"x" * member.size))
        file.seek(0)
        return file

    @staticmethod
    def member(name, **fields):
        member = tarfile.TarInfo(name)
        for key, value in fields.items():
            setattr(member, key, value)
        return member

    @pytest.mark.parametrize(
        "member",
        [
            {"name": "../outside.py", "size": 1},
            {"name": "a/../../outside.py", "size": 1},
            {"name": "link", "type": tarfile.SYMTYPE, "linkname": "../../outside"},
            {"name": "link", "type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
            {"name": "pipe", "type": tarfile.FIFOTYPE},
            {"name": "device", "type": tarfile.CHRTYPE},
        ],
        ids=lambda member: f"{member['name']}-{member.get('linkname', '')}",
    )
    def test_no_archive_reaches_out_of_its_folder(self, tmp_path, member):
        """It is refused as a whole."""
        folder = tmp_path / "job" / "code"
        folder.mkdir(parents=True)
        with pytest.raises(ConfigError, match=r"s3://b/source.tar.gz cannot be unpacked"):
            unpack(self.archive(self.member(**member)), folder, "s3://b/source.tar.gz")
        assert [folder.parent] == list(tmp_path.iterdir())

    def test_an_absolute_name_lies_below(self, tmp_path):
        """As tar itself takes it."""
        unpack(self.archive(self.member("/etc/x.py", size=1)), tmp_path, "u")
        assert (tmp_path / "etc" / "x.py").is_file()

    @pytest.mark.parametrize("data", [b"", b"no archive", b"\x1f\x8b\x08broken"])
    def test_what_is_no_archive(self, tmp_path, data):
        """One line says so."""
        with pytest.raises(ConfigError, match="u cannot be unpacked"):
            unpack(io.BytesIO(data), tmp_path, "u")

    def test_one_that_would_fill_the_disk(self, tmp_path):
        """It is refused before it does."""
        huge = tarfile.TarInfo("huge")
        huge.size = 9 << 30
        file = io.BytesIO(huge.tobuf() + b"\0" * 1024)
        with pytest.raises(ConfigError, match="a source has no data"):
            unpack(file, tmp_path, "u")
        assert [] == list(tmp_path.iterdir())
