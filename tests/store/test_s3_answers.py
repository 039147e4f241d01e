"""What S3Store makes of answers that the server of our tests does not give, and of URLs."""

from __future__ import annotations

import sys

import pytest
import trustme

from stepwatch.errors import ConfigError, MissingDependency, StoreError
from stepwatch.store import objects, open_store
from stepwatch.store.error_messages import S3_ERRORS, Refusal
from stepwatch.store.objects import S3Store
from tests.support.store.canned_server import canned_server

pytest.importorskip("obstore")

NOT_SET = (
    "AWS_PROFILE",
    "AWS_CA_BUNDLE",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_SKIP_SIGNATURE",
)
# As in "Error responses" of the API reference of Amazon S3.
ERROR = '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{}</Code>{}</Error>'
MALFORMED = (
    "<Message>The authorization header is malformed; the region 'us-east-1' is wrong; expecting "
    "'eu-west-1'</Message><Region>eu-west-1</Region>"
)


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    """Keys that nobody asks for, and nothing of the user's."""
    monkeypatch.setattr(objects, "FIRST_PATIENCE_S", 0.3)
    monkeypatch.setattr(objects, "PATIENCE_S", 0.3)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    for name in NOT_SET:
        monkeypatch.delenv(name, raising=False)


class TestAnswers:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("status", "code", "more", "reason"),
        [
            (400, "ExpiredToken", "", "the credentials have expired; renew them"),
            (400, "InvalidToken", "", "the session token is not valid"),
            (400, "AuthorizationHeaderMalformed", MALFORMED, "region, eu-west-1; set AWS_REGION"),
            (301, "PermanentRedirect", "", "the bucket bkt is in another region; set AWS_REGION"),
            (403, "RequestTimeTooSkewed", "", "the clock of this machine is wrong"),
            (403, "AllAccessDisabled", "", "answers 403 AllAccessDisabled"),
            (503, "SlowDown", "", "answers 503 SlowDown"),
        ],
    )
    def test_each_is_one_line_that_says_what_to_do(self, monkeypatch, status, code, more, reason):
        """Whatever is asked."""
        with canned_server(status, ERROR.format(code, more)) as server:
            monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
            store = S3Store("s3://bkt/run")
            for ask in (lambda: store.put("key", b""), lambda: store.get("key"), store.list):
                with pytest.raises(StoreError) as caught:
                    ask()
                assert reason in str(caught.value)
                assert "\n" not in str(caught.value)

    def test_what_has_no_size_because_it_is_denied_is_not_called_missing(self, monkeypatch):
        """The answer to that question has no text of its own."""
        with canned_server(403, ERROR.format("InvalidAccessKeyId", "")) as server:
            monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
            with pytest.raises(StoreError, match="does not know the access key"):
                S3Store("s3://bkt/run").size("key")

    def test_no_keys_anywhere_is_told(self, monkeypatch):
        """The machine is asked last; where it has none, the message says how to give some."""
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        monkeypatch.delenv("AWS_EC2_METADATA_DISABLED", raising=False)
        with canned_server(404) as server:
            monkeypatch.setenv("AWS_METADATA_ENDPOINT", server.endpoint)
            with pytest.raises(StoreError, match="no credentials; set AWS_ACCESS_KEY_ID and"):
                S3Store("s3://bkt/run").get("key")

    @pytest.mark.slow
    def test_a_certificate_is_trusted_if_it_is_known(self, monkeypatch, tmp_path):
        """That of a server in the house, by the file that names its authority."""
        authority = trustme.CA()
        authority.cert_pem.write_to_path(tmp_path / "authority.pem")
        with canned_server(200, "value", authority) as server:
            monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
            with pytest.raises(StoreError, match=r"not trusted \(UnknownIssuer\)"):
                S3Store("s3://bkt/run").put("key", b"value")
            monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "authority.pem"))
            S3Store("s3://bkt/run").put("key", b"value")

    def test_only_what_was_not_answered_is_asked_again(self):
        """What else the library refuses stays refused."""
        refusal = Refusal.of(
            OSError("Error performing GET http://h/b in 1s - HTTP error: x"), S3_ERRORS
        )

        assert refusal.is_unanswered
        assert not Refusal.of(OSError("something else"), S3_ERRORS).is_unanswered


class TestUrls:
    def test_the_url_is_what_it_opens_by(self):
        """In one form, whatever was typed."""
        for typed in ("s3://bucket/a/run", "S3://bucket/a/run/"):
            assert "s3://bucket/a/run" == open_store(typed).url
        assert "s3://bucket" == open_store("s3://bucket").url

    @pytest.mark.parametrize(
        "url",
        ["s3://", "s3:///run", "s3://ab/run", "s3://me@host/run", "s3://bucket:80/run", "s3:b"],
    )
    def test_what_names_no_bucket_is_refused(self, url):
        """Before anything is asked."""
        with pytest.raises(ConfigError, match="names no bucket; write s3://BUCKET/PATH"):
            S3Store(url)

    def test_a_path_that_is_no_key_is_refused(self):
        """It would lead elsewhere, or nowhere."""
        for path in ("a//b", "../b", "a/."):
            with pytest.raises(ConfigError, match="is no key"):
                S3Store(f"s3://bucket/{path}")

    def test_a_bucket_that_lists_in_no_order_is_refused(self):
        """What is new could not be told from what is old."""
        with pytest.raises(ConfigError, match="directory bucket"):
            S3Store("s3://fast--use1-az4--x-s3/run")

    def test_the_package_that_is_missing_is_named(self, monkeypatch):
        """With how to get it."""
        monkeypatch.setitem(sys.modules, "obstore", None)
        with pytest.raises(MissingDependency, match=r"pip install 'stepwatch\[s3\]'"):
            open_store("s3://bucket/run")
