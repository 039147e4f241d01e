"""What a server, or the lack of one, refuses: one line that says what to do."""

from __future__ import annotations

import math
import os

import pytest

from stepwatch.errors import StoreError
from stepwatch.store import objects
from stepwatch.store.objects import S3Store
from tests.support.s3.fault_proxy import FaultProxy
from tests.support.s3.s3_bucket import bucket, s3

__all__ = ["bucket", "s3"]

pytestmark = pytest.mark.s3


def refusals(store):
    """Return what each kind of request is refused with."""
    said = {}
    asks = {
        "read": lambda: store.get("key"),
        "size": lambda: store.size("key"),
        "write": lambda: store.put("key", b""),
        "create": lambda: store.create("key", b""),
        "list": lambda: store.list(),
        "delete": lambda: store.delete("key"),
    }
    for what, ask in asks.items():
        with pytest.raises(StoreError) as caught:
            ask()
        said[what] = str(caught.value)
    return said


def assert_all_say(said, reason):
    """Each refusal is one line: what was asked, and the reason."""
    verbs = {"size": "read", "create": "write"}
    for what, text in said.items():
        assert text.startswith(f"cannot {verbs.get(what, what)} ")
        assert reason in text
        assert "\n" not in text
        assert len(text) < 300


class TestRefusals:
    def test_no_bucket_is_told_and_none_is_made(self, bucket, s3):
        """Whatever is asked for."""
        said = refusals(S3Store("s3://nosuch-bucket/run"))

        assert_all_say(said, f"there is no bucket nosuch-bucket at {s3['AWS_ENDPOINT_URL']}")
        assert_all_say(refusals(S3Store("s3://nosuch-bucket/run")), "there is no bucket")

    def test_an_unknown_access_key_is_told(self, bucket, monkeypatch):
        """It is likely that of another server."""
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")

        assert_all_say(refusals(S3Store(f"s3://{bucket.bucket}")), "does not know the access key")

    def test_a_wrong_secret_is_told(self, bucket, monkeypatch):
        """As what it is."""
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "guess")

        assert_all_say(
            refusals(S3Store(f"s3://{bucket.bucket}")), "does not belong to the access key"
        )

    def test_denied_access_names_the_right_that_is_needed(self, bucket, monkeypatch):
        """Of each kind of request."""
        monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
        said = refusals(S3Store(f"s3://{bucket.bucket}"))

        assert_all_say(said, "access denied; these credentials need s3:")
        assert "s3:GetObject" in said["read"]
        assert "s3:PutObject" in said["write"]
        assert "s3:ListBucket" in said["list"]
        assert "s3:DeleteObject" in said["delete"]

    def test_everybody_reads_what_is_public(self, bucket, monkeypatch):
        """Without a key, if the environment asks for that; and writes nothing."""
        bucket.put("run/key", b"value")
        bucket.let_everybody_read()
        monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        store = S3Store(f"s3://{bucket.bucket}/run")

        assert (b"value", ["key"]) == (store.get("key"), store.list())
        with pytest.raises(StoreError, match="access denied"):
            store.put("key", b"other")

    def test_no_server_is_told_soon(self, bucket, monkeypatch):
        """One that never answered is not waited for as one that did."""
        monkeypatch.setattr(objects, "FIRST_PATIENCE_S", 0.5)
        monkeypatch.setattr(objects, "PATIENCE_S", math.inf)
        with FaultProxy("http://127.0.0.1:9", lambda *_: None) as nobody:
            monkeypatch.setenv("AWS_ENDPOINT_URL", nobody.endpoint)
        with pytest.raises(StoreError) as caught:
            S3Store("s3://bucket/run").get("key")

        assert (
            f"cannot read key in s3://bucket/run: {nobody.endpoint} does not answer (Connection "
            "refused); check AWS_ENDPOINT_URL and the network; given up after 0.5 s"
        ) == str(caught.value)

    def test_a_name_that_nobody_has_is_told_soon(self, bucket, monkeypatch):
        """As the system says it."""
        monkeypatch.setattr(objects, "FIRST_PATIENCE_S", 0.5)
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://nosuch.invalid:80")
        with pytest.raises(StoreError, match=r"http://nosuch\.invalid:80 does not answer \(.+\)"):
            S3Store("s3://bucket/run").get("key")

    def test_keys_of_a_profile_are_taken(self, bucket, monkeypatch, tmp_path):
        """From the files of AWS, with the endpoint."""
        endpoint = f"endpoint_url = {_taken(monkeypatch, 'AWS_ENDPOINT_URL')}\n"
        access_key = f"aws_access_key_id = {_taken(monkeypatch, 'AWS_ACCESS_KEY_ID')}\n"
        secret = f"aws_secret_access_key = {_taken(monkeypatch, 'AWS_SECRET_ACCESS_KEY')}\n"
        (tmp_path / "config").write_text(f"[profile lab]\n{endpoint}")
        (tmp_path / "keys").write_text(f"[lab]\n{access_key}{secret}")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "keys"))
        monkeypatch.setenv("AWS_PROFILE", "lab")
        S3Store(f"s3://{bucket.bucket}/run").put("key", b"value")

        assert bucket.get("run/key") == b"value"


def _taken(monkeypatch, name):
    """Take a variable out of the environment; return what it was."""
    value = os.environ[name]
    monkeypatch.delenv(name)
    return value
