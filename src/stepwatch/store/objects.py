"""Runs in object storage: S3 and servers that speak as it does, Azure Blob Storage, Google's.

An object appears whole or not at all, and to whoever asks after it was put; so a value is an
object, and nothing else is ever made: no bucket, no folder, no note. A request that got no answer
is sent again: to put the same bytes twice is to put them once. To create is not; so each call
stores a random mark with the value, and a call that is refused because there is a value already
checks whose mark it has.
"""

from __future__ import annotations

import builtins
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from ..config import aws_access
from ..errors import ConfigError, StoreAway, StoreError
from ..plugins.registry import require
from ..runtime.waiting import answer_to, waiting_for
from . import PIECE_BYTES, BytesLike, check_key, check_prefix, check_range
from .error_messages import AZ_ERRORS, GS_ERRORS, S3_ERRORS, ErrorDialect, Refusal

T = TypeVar("T")

# How many pieces travel at the same time.
_PARTS_AT_ONCE = 4
#: How long a server is retried that never answered, and one that did and is away: a wrong
#: address should be reported soon, and a training outlives the restart of a server.
FIRST_PATIENCE_S = 10.0
PATIENCE_S = 60.0
# Before what got no answer is sent again; twice as long each time, up to the last.
_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0
#: The library sends pieces and pages again, a few times, so that not all begins anew.
RETRIES = {"max_retries": 3, "retry_timeout": timedelta(seconds=5)}
CLIENT: dict[str, object] = {
    "allow_http": True,  # who gives an endpoint with http:// means it
    "connect_timeout": timedelta(seconds=5),
    "read_timeout": timedelta(seconds=30),  # without a byte
    "timeout": timedelta(minutes=5),
}
_PAGE = 1000
# Azure takes such names only as programs may have them: without a dash.
_MARK = "stepwatchcreator"


class ObjectStore(ABC):
    """What lies below a URL in object storage, as a store.

    Making one sends no request.

    Args:
        url: Scheme and container, such as ``s3://bucket``, and perhaps a path, which is taken as
            it is, without decoding.

    Raises:
        ConfigError: It is no such URL, or what says how the storage is reached is wrong.
        MissingDependency: The package obstore is not installed.
    """

    #: What this storage calls things.
    dialect: ClassVar[ErrorDialect]
    #: Whether it lists in the order of code points, as text is compared here; and after a key.
    lists_in_order: ClassVar[bool] = True
    # The library's threads do not live on in a forked child: it would wait for them for ever.
    _process = 0

    def __init__(self, url: str) -> None:
        self._container, self._prefix = _container_and_path(url, self.dialect)
        self._library: Any = require("obstore", extra=self.dialect.scheme)
        self._stores: Any = require("obstore.store", extra=self.dialect.scheme)
        self._answered = self._is_away = False

    @abstractmethod
    def _connect(self, stores: Any, container: str, **options: object) -> Any:
        """Return the library's own store; ``stores`` is where its classes are."""

    @property
    def url(self) -> str:
        base = f"{self.dialect.scheme}://{self._container}"
        return f"{base}/{self._prefix}" if self._prefix else base

    def put(self, key: str, data: BytesLike) -> None:
        self.put_parts(key, [data])

    def put_parts(self, key: str, parts: Sequence[BytesLike]) -> None:
        """Set a value, given in pieces; they are joined only if they are small."""
        check_key(key)
        whole = _joined(parts)
        self._send(
            "write",
            key,
            lambda client: self._library.put(
                client,
                key,
                (memoryview(part).cast("B") for part in parts) if whole is None else whole,
                use_multipart=whole is None,
                chunk_size=PIECE_BYTES,
                max_concurrency=_PARTS_AT_ONCE,
            ),
        )

    def create(self, key: str, data: BytesLike) -> bool:
        check_key(key)
        mark = os.urandom(16).hex()
        value = bytes(data)

        def create(client: Any) -> bool:
            try:
                self._library.put(client, key, value, mode="create", attributes={_MARK: mark})
            except self._library.exceptions.AlreadyExistsError:
                # An answer may have been lost: then what is there is what this call has set.
                head = self._library.get(client, key, options={"head": True})
                return bool(head.attributes.get(_MARK) == mark)
            return True

        return self._send("write", key, create)

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        check_key(key)
        check_range(start, length)
        if length == 0:
            self.size(key)  # no storage knows an empty range
            return b""
        options: dict[str, object] = {}
        if length is not None:
            options = {"range": (start, start + length)}
        elif start:
            options = {"range": {"offset": start}}
        return self._send("read", key, lambda client: self._read(client, key, options))

    def size(self, key: str) -> int:
        check_key(key)
        return self._send("read", key, lambda client: self._size(client, key))

    def list(self, prefix: str = "", after: str = "") -> builtins.list[str]:
        """Return the keys that start with ``prefix`` and sort after ``after``, ascending.

        Only what sorts between them is requested, a thousand keys at a time; where listings are
        not in order, all that lies in the folder.
        """
        check_prefix(prefix)
        return self._send("list", prefix, lambda client: self._keys(client, prefix, after))

    def delete(self, key: str) -> None:
        check_key(key)
        self._send("delete", key, lambda client: self._delete(client, key))

    def _read(self, client: Any, key: str, options: dict[str, object]) -> bytes:
        try:
            return bytes(self._library.get(client, key, options=options).bytes())
        except self._library.exceptions.GenericError as error:
            refusal = Refusal.of(error, self.dialect)
            # All of the range lies beyond the end, as the server says, or the library itself.
            if refusal.status == "416" or "but object was only" in refusal.text:
                return b""
            raise

    def _delete(self, client: Any, key: str) -> None:
        try:
            self._library.delete(client, key)
        except FileNotFoundError:
            # Azure does not tell in its answer to this what is missing; in that to a reader.
            try:
                self._read(client, key, {"range": (0, 1)})
            except FileNotFoundError as error:
                if Refusal.of(error, self.dialect).lacks_container:
                    raise

    def _size(self, client: Any, key: str) -> int:
        denied = self._library.exceptions.PermissionDeniedError
        unknown = self._library.exceptions.UnauthenticatedError
        try:
            return int(self._library.head(client, key)["size"])
        except (FileNotFoundError, denied, unknown):
            # The answer to this question has no text; that to a reader says what is wrong.
            self._read(client, key, {"range": (0, 1)})
            return int(self._library.head(client, key)["size"])

    def _keys(self, client: Any, prefix: str, after: str) -> builtins.list[str]:
        folder = prefix.rpartition("/")[0]
        begin = max(after, prefix[:-1]) if self.lists_in_order else ""
        keys: builtins.list[str] = []
        pages = self._library.list(client, folder or None, offset=begin or None, chunk_size=_PAGE)
        for page in pages:
            paths = [entry["path"] for entry in page]
            # Among them may be "", what other programs put where a folder would be.
            keys += [path for path in paths if path > after and path.startswith(prefix)]
            ended = paths[-1] > prefix and not paths[-1].startswith(prefix)
            if ended and self.lists_in_order:
                break
        return sorted(keys)

    def _send(self, verb: str, key: str, request: Callable[[Any], T]) -> T:
        """Return what a request returns; retry it for some time while no answer comes.

        The library retries only what it knows is safe to repeat. All that is sent here is. Once
        that was in vain, whoever comes next is told so after one try, until there is an answer.
        """
        self._check_process(verb, key)
        with waiting_for(f"{self.url} to answer"):
            return self._retried(verb, key, request)

    def _retried(self, verb: str, key: str, request: Callable[[Any], T]) -> T:
        client = self._client
        patience_s = PATIENCE_S if self._answered else FIRST_PATIENCE_S
        give_up_at = time.monotonic() + (0.0 if self._is_away else patience_s)
        pause_s = _PAUSE_S
        while True:
            try:
                found = answer_to(lambda: request(client))
            except (self._library.exceptions.BaseError, OSError, ValueError) as error:
                refusal = Refusal.of(error, self.dialect)
                self._answered = self._answered or bool(refusal.status)
                lost = refusal.is_unanswered or refusal.is_gone(verb)
                if not lost or time.monotonic() > give_up_at:
                    waited_s = 0.0 if self._is_away else patience_s
                    self._is_away = refusal.is_unanswered
                    raise self._refused(verb, key, error, refusal, waited_s) from None
            else:
                self._answered, self._is_away = True, False
                return found
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _refused(
        self, verb: str, key: str, error: BaseException, refusal: Refusal, waited_s: float
    ) -> OSError:
        if isinstance(error, FileNotFoundError) and verb == "read" and not refusal.lacks_container:
            return FileNotFoundError(f"no {key} in {self.url}")
        what = f"{key} in {self.url}" if key else self.url
        text = f"cannot {verb} {what}: {refusal.reason(verb, self._container)}"
        if not refusal.is_unanswered:
            return StoreError(text)
        return StoreAway(f"{text}; given up after {waited_s:g} s" if waited_s else text)

    @cached_property
    def _client(self) -> Any:
        try:
            return self._connect(
                self._stores,
                self._container,
                prefix=self._prefix or None,
                retry_config=RETRIES,
            )
        except (self._library.exceptions.BaseError, ValueError) as error:
            text = Refusal.of(error, self.dialect).text
            raise ConfigError(f"cannot open {self.url}: {text}; {self.dialect.remedy}") from None

    def _check_process(self, verb: str, key: str) -> None:
        ObjectStore._process = ObjectStore._process or os.getpid()
        if ObjectStore._process != os.getpid():
            raise StoreError(
                f"cannot {verb} {key} in {self.url}: this process was forked from one that had "
                "used object storage; start it by spawn or forkserver"
            )


def _joined(parts: Sequence[BytesLike]) -> bytes | None:
    """Return pieces as one if they are small; else ``None``, having read no more of them."""
    views, size = [], 0
    for part in parts:
        views.append(memoryview(part).cast("B"))
        size += len(views[-1])
        if size > PIECE_BYTES:
            return None
    return b"".join(views)


def _container_and_path(url: str, dialect: ErrorDialect) -> tuple[str, str]:
    pattern = rf"(?i:{dialect.scheme})://({dialect.name})(?:/(.*))?"
    match = re.fullmatch(pattern, url, re.DOTALL)
    if not match:
        kind = dialect.container
        raise ConfigError(
            f"{url!r} names no {kind}; write {dialect.scheme}://{kind.upper()}/PATH, "
            f"where the name of a {kind} has {dialect.letters}"
        )
    container, path = match[1], (match[2] or "").strip("/")
    if path:
        check_key(path)
    return container, path


class AzStore(ObjectStore):
    """What lies below a URL in a container of Azure Blob Storage, as a store.

    Account and credentials are found by the library, in the variables that begin with ``AZURE_``,
    by the program ``az``, or at the machine.

    Args:
        url: ``az://container`` or ``az://container/path``, of the account that
            ``$AZURE_STORAGE_ACCOUNT_NAME`` names.
    """

    dialect = AZ_ERRORS
    # Accounts with a hierarchical namespace list folder by folder: "a/b" before "a-b".
    lists_in_order = False

    def _connect(self, stores: Any, container: str, **options: object) -> Any:
        return stores.AzureStore(container, client_options=CLIENT, **options)


class GsStore(ObjectStore):
    """What lies below a URL in a bucket of Google Cloud Storage, as a store.

    Credentials are found as Google's own programs find them, by the library: a file that
    ``$GOOGLE_APPLICATION_CREDENTIALS`` or ``$GOOGLE_SERVICE_ACCOUNT`` names, what gcloud has
    written, or those of the machine.

    Args:
        url: ``gs://bucket`` or ``gs://bucket/path``.
    """

    dialect = GS_ERRORS

    def _connect(self, stores: Any, container: str, **options: object) -> Any:
        return stores.GCSStore(container, client_options=CLIENT, **options)


class S3Store(ObjectStore):
    """What lies below a URL in a bucket, as a store.

    Credentials, endpoint and region are those of AWS's own programs; see ``config.aws_access``.

    Args:
        url: ``s3://bucket`` or ``s3://bucket/path``.
    """

    dialect = S3_ERRORS

    def __init__(self, url: str) -> None:
        super().__init__(url)
        if self._container.endswith("--x-s3"):
            raise ConfigError(
                f"{url!r} is a directory bucket, which lists in no order; "
                "give one for general purpose"
            )
        self._access = aws_access()

    def _connect(self, stores: Any, container: str, **options: object) -> Any:
        access = self._access
        return stores.S3Store(
            container,
            config=_given(endpoint=access.endpoint, region=access.region),
            client_options=CLIENT | _given(root_certificate=access.certificates),
            credential_provider=access.keys,
            # The request that deletes many at once is not known to all that speak as S3.
            disable_bulk_delete=True,
            **options,
        )


def _given(**options: object) -> dict[str, object]:
    return {name: value for name, value in options.items() if value}
