"""What GsStore and AzStore make of URLs, of answers and of missing credentials.

Answers are those of the references of both, given by a server that only repeats them.
"""

from __future__ import annotations

import base64
import os
from urllib.parse import unquote

import pytest

from stepwatch.errors import ConfigError, StoreError
from stepwatch.store import objects, open_store
from stepwatch.store.error_messages import AZ_ERRORS, Refusal
from stepwatch.store.objects import AzStore, GsStore
from tests.support.store.canned_server import canned_server

pytest.importorskip("obstore")

ERROR = '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{}</Code></Error>'
# As in "List Blobs" of the reference of Azure Storage.
BLOBS = "<EnumerationResults><Blobs>{}</Blobs><NextMarker/></EnumerationResults>"
BLOB = (
    "<Blob><Name>{}</Name><Properties><Content-Length>0</Content-Length><Etag>1</Etag>"
    "<Last-Modified>Mon, 01 Jan 2024 00:00:00 GMT</Last-Modified>"
    "<Content-Type>x</Content-Type></Properties></Blob>"
)
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    """Nothing of the user's, and credentials that nobody asks for."""
    monkeypatch.setattr(objects, "FIRST_PATIENCE_S", 0.3)
    monkeypatch.setattr(objects, "PATIENCE_S", 0.3)
    for name in [name for name in os.environ if name.startswith(("AZURE_", "GOOGLE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GOOGLE_BEARER_TOKEN", "token")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", base64.b64encode(b"key").decode())


def asks(store):
    """Return a question of each kind, but for one that is answered without text."""
    return (
        lambda: store.put("key", b""),
        lambda: store.create("key", b""),
        lambda: store.get("key"),
        lambda: store.size("key"),
        store.list,
    )


class TestUrls:
    @pytest.mark.parametrize("place", ["gs://my_bucket.of-mine", "az://my-container-0"])
    def test_the_url_is_what_it_opens_by(self, place):
        """In one form, whatever was typed."""
        for typed in (f"{place}/a/run", f"{place[:2].upper()}{place[2:]}/a/run/"):
            assert f"{place}/a/run" == open_store(typed).url
        assert place == open_store(place).url

    @pytest.mark.parametrize("url", ["gs://", "gs:///run", "gs://ab/run", "gs://Bucket/run"])
    def test_what_names_no_bucket_is_refused(self, url):
        """Before anything is asked."""
        with pytest.raises(ConfigError, match="names no bucket; write gs://BUCKET/PATH, where"):
            GsStore(url)

    @pytest.mark.parametrize(
        "url",
        [
            "az://",
            "az:///run",
            "az://ab/run",
            "az://two--dashes/run",
            "az://-begins/run",
            "az://UPPER/run",
            f"az://{'a' * 64}/run",
            "az://container@account/run",
        ],
    )
    def test_what_names_no_container_is_refused(self, url):
        """Before anything is asked."""
        with pytest.raises(ConfigError, match="names no container; write az://CONTAINER/PATH"):
            AzStore(url)

    def test_a_path_that_is_no_key_is_refused(self):
        """It would lead elsewhere, or nowhere."""
        for path in ("a//b", "../b", "a/."):
            for place in ("gs://bucket", "az://container"):
                with pytest.raises(ConfigError, match="is no key"):
                    open_store(f"{place}/{path}")

    def test_the_bucket_of_the_url_counts_and_not_a_variable(self, monkeypatch):
        """The library would take one from the environment."""
        monkeypatch.setenv("GOOGLE_BUCKET", "other")
        monkeypatch.setenv("AZURE_CONTAINER_NAME", "other")
        with canned_server(200, "value") as server:
            monkeypatch.setenv("GOOGLE_BASE_URL", server.endpoint)
            monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", server.endpoint)
            GsStore("gs://bucket/run").put("key", b"")
            AzStore("az://container/run").put("key", b"")

        assert ["/bucket/run/key", "/container/run/key"] == [*map(unquote, server.asked)]


class TestAnswers:
    @pytest.mark.parametrize(
        ("status", "code", "reason"),
        [
            (404, "NoSuchBucket", "there is no bucket bkt at http://127.0.0.1:"),
            (401, "AuthenticationRequired", "does not accept the credentials; set GOOGLE_APPL"),
            (403, "AccessDenied", "access denied; these credentials need storage.objects."),
            (429, "SlowDown", "answers 429"),
            (503, "ServiceUnavailable", "answers 503"),
        ],
    )
    @pytest.mark.slow
    def test_of_google_are_one_line_that_says_what_to_do(self, monkeypatch, status, code, reason):
        """Whatever is asked."""
        with canned_server(status, ERROR.format(code)) as server:
            monkeypatch.setenv("GOOGLE_BASE_URL", server.endpoint)
            for ask in asks(GsStore("gs://bkt/run")):
                with pytest.raises(StoreError) as caught:
                    ask()
                assert reason in str(caught.value)
                assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("status", "code", "reason"),
        [
            (404, "ContainerNotFound", "there is no container bkt at http://127.0.0.1:"),
            (403, "AuthenticationFailed", "does not accept the credentials; correct AZURE_STOR"),
            (403, "AuthorizationPermissionMismatch", "need the role Storage Blob Data "),
            (403, "AccountIsDisabled", "the account is disabled"),
            (503, "ServerBusy", "answers 503"),
        ],
    )
    @pytest.mark.slow
    def test_of_azure_are_one_line_that_says_what_to_do(self, monkeypatch, status, code, reason):
        """Whatever is asked."""
        with canned_server(status, ERROR.format(code)) as server:
            monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", server.endpoint)
            for ask in asks(AzStore("az://bkt/run")):
                with pytest.raises(StoreError) as caught:
                    ask()
                assert reason in str(caught.value)
                assert "\n" not in str(caught.value)

    def test_what_is_missing_is_file_not_found(self, monkeypatch):
        """Not a refusal; and what is to be deleted need not be there."""
        with canned_server(404, ERROR.format("NoSuchKey")) as server:
            monkeypatch.setenv("GOOGLE_BASE_URL", server.endpoint)
            store = GsStore("gs://bkt/run")
            for read in (store.get, store.size):
                with pytest.raises(FileNotFoundError, match=r"no key in gs://bkt/run"):
                    read("key")
            store.delete("key")

    def test_a_bucket_that_is_missing_is_told_to_who_deletes(self, monkeypatch):
        """It is not the value that need not be there."""
        with canned_server(404, ERROR.format("NoSuchBucket")) as server:
            monkeypatch.setenv("GOOGLE_BASE_URL", server.endpoint)
            with pytest.raises(StoreError, match=r"cannot delete key .* there is no bucket bkt"):
                GsStore("gs://bkt/run").delete("key")

    def test_pieces_that_are_no_longer_aside_are_sent_again(self):
        """Azure says so to who sends the last word twice, its answer having been lost."""
        told = "Generic x error: Error performing PUT http://h/b in 1ms - status code: 400 Bad"
        for code, is_unanswered in (("InvalidBlockList", True), ("InvalidInput", False)):
            refusal = Refusal.of(OSError(f"{told}: {ERROR.format(code)}"), AZ_ERRORS)
            assert is_unanswered == refusal.is_unanswered


class TestOrder:
    def test_what_azure_lists_is_put_in_order(self, monkeypatch):
        """Accounts with a hierarchical namespace list folder by folder; nothing is missed."""
        names = [*(f"many/{number}" for number in range(1500)), "many-a", "many-b"]
        with canned_server(200, BLOBS.format("".join(map(BLOB.format, names)))) as server:
            monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", server.endpoint)
            store = AzStore("az://container")

            assert sorted(names) == store.list()
            assert ["many-b"] == store.list("many-", after="many-a")


class TestCredentials:
    def test_a_machine_without_any_is_told_how_to_give_some(self, monkeypatch):
        """It is asked last."""
        monkeypatch.delenv("GOOGLE_BEARER_TOKEN")
        with canned_server(404) as server:
            monkeypatch.setenv("GCE_METADATA_HOST", server.endpoint.removeprefix("http://"))
            with pytest.raises(StoreError, match="no credentials; set GOOGLE_APPLICATION_CRED"):
                GsStore("gs://bucket/run").get("key")

    def test_a_file_that_is_missing_is_named(self, monkeypatch, tmp_path):
        """Of Google's, by either variable."""
        monkeypatch.delenv("GOOGLE_BEARER_TOKEN")
        for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT"):
            with monkeypatch.context() as only:
                only.setenv(name, str(tmp_path / "nothing.json"))
                with pytest.raises(ConfigError, match=r"cannot open gs://bucket/run: .*nothing"):
                    GsStore("gs://bucket/run").get("key")

    def test_no_account_of_azure_is_told(self, monkeypatch):
        """With the variable that names it."""
        monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME")
        with pytest.raises(
            ConfigError, match=r"Account must be .*; set AZURE_STORAGE_ACCOUNT_NAME"
        ):
            AzStore("az://container/run").get("key")

    @pytest.mark.slow
    def test_a_server_that_is_not_there_is_told(self, monkeypatch):
        """With the variables that lead to it."""
        monkeypatch.setenv("GOOGLE_BASE_URL", NOBODY)
        monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", NOBODY)
        for place, name in (("gs://bucket", "GOOGLE_BASE_URL"), ("az://bucket", "AZURE_STORAGE_A")):
            with pytest.raises(StoreError, match=rf"does not answer \(.*\); check {name}"):
                open_store(place).get("key")
