"""Runs in a folder.

A value is written to a hidden file beside its path and then renamed. A reader that opens a path
therefore finds a whole value, also after the writer was killed at any byte. Nothing is synced to
the disk: what is promised survives the process, not a power failure. Only appended data is visible
as it comes; no run uses that, but files for other programs do.
"""

from __future__ import annotations

import builtins
import ctypes
import errno
import itertools
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import unquote

from ..errors import ConfigError, NotAFile, StoreAway, StoreError
from . import PARTIAL, BytesLike, check_key, check_prefix, check_range, scheme_of

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
# What one call of the system takes; POSIX promises 16, Linux and macOS have 1024.
_MOST_PIECES = 1024
# For smaller files it does not pay to ask for their space first.
_LARGE_BYTES = 1 << 20
_TRIES = 3

Opened = TypeVar("Opened")


def tail(file: Path, size: int) -> tuple[bytes, int]:
    """Return the end of a file, and where in the file that begins.

    Args:
        size: At most so many bytes.
    """
    with file.open("rb") as stream:
        begin = max(0, stream.seek(0, os.SEEK_END) - size)
        stream.seek(begin)
        return stream.read(), begin


def make_private_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder, and those it lies in, for this user alone; one that is there stays as it is.

    Raises:
        OSError: It cannot be made, or is a file.
    """
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    except FileNotFoundError:
        make_private_folder(os.path.dirname(os.path.abspath(path)))
        os.makedirs(path, 0o700, exist_ok=True)


def private_opener(path: str, flags: int) -> int:
    """Open a file, for this user alone if it is new; the ``opener`` of ``open``."""
    return os.open(path, flags, 0o600)


def write_new(
    path: str, parts: Sequence[bytes | bytearray | memoryview], mode: int = 0o666
) -> None:
    """Write pieces to a new file; its folder is made if there is none.

    By calls of the system alone, and few of them: around each, another thread gets its turn and
    has to wait for it.

    Args:
        path: Of the file.
        parts: What it is to hold.
        mode: Who may read and write it, less the umask.
    """
    file = in_its_folder(path, lambda: os.open(path, _NEW, mode))
    try:
        rest = [memoryview(part).cast("B") for part in parts]
        _take_space(file, sum(map(len, rest)))
        while rest:
            written = _write(file, rest[:_MOST_PIECES])
            while rest and written >= len(rest[0]):
                written -= len(rest.pop(0))
            if rest:
                rest[0] = rest[0][written:]
    finally:
        os.close(file)


def in_its_folder(path: str, open_it: Callable[[], Opened]) -> Opened:
    """Open a file; its folder is made if there is none, and again if another process removes it."""
    return _in_folder(path, partial(os.makedirs, exist_ok=True), open_it)


def _in_folder(path: str, make: Callable[[str], None], open_it: Callable[[], Opened]) -> Opened:
    for _ in range(_TRIES):
        try:
            return open_it()
        except FileNotFoundError:
            make(os.path.dirname(path))
    return open_it()


def _write(file: int, parts: Sequence[memoryview]) -> int:
    if hasattr(os, "writev"):
        return os.writev(file, parts)
    return os.write(file, parts[0])


def _take_space(file: int, size_bytes: int) -> None:
    """Take the space of a large file at once, where the system can: writing is a quarter faster.

    Raises:
        OSError: There is not so much.
    """
    fallocate = _fallocate() if size_bytes >= _LARGE_BYTES else None
    if fallocate is None or fallocate(file, 0, 0, size_bytes) == 0:
        return
    if ctypes.get_errno() == errno.ENOSPC:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@cache
def _fallocate() -> Any:
    """Return the call of Linux, which says so where a file system cannot do it.

    That of POSIX, which Python has, would then write to every block instead.
    """
    try:
        function = ctypes.CDLL(None, use_errno=True).fallocate
    except (AttributeError, OSError, TypeError):  # not Linux
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
    return function


try:
    from .._kernel import write_files
except ImportError:  # built without a C compiler, or for Windows
    write_files = None  # type: ignore[assignment]  # every use asks for it

_NO_VALUE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
# A FIFO without a writer, or a link, is refused and not waited for or followed.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
_BY_FOLDER = os.open in os.supports_dir_fd
_NOT_A_FILE = (errno.ELOOP, errno.EINVAL, errno.EPERM, errno.ENXIO)
# A file system that can only be read, or is gone: also of what is stored next.
_AWAY = (errno.EROFS, errno.ESTALE, errno.ENOTCONN, errno.ETIMEDOUT, errno.EHOSTDOWN)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)

# Copied for the kernel, which takes only bytes; a larger value is put by itself, without a copy.
_SMALL_BYTES = 1 << 20


class LocalStore:
    """A folder as a store. It is made by the first put, and by nothing else.

    It is made for this user alone, as is what is put into it. Where it is there already, files are
    for whom the folder is for, less the umask: make it with the permissions that you want.

    Args:
        root: The folder, as a path or as ``file:///path``.

    Raises:
        ConfigError: A URL of another host's files, or nothing at all.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        path = _path_of(os.fspath(root))
        self._root = str(path)
        self._url = path.as_uri()
        # Processes that share the folder from several machines may have one process number.
        self._nonce = os.urandom(4).hex()
        self._counter = itertools.count()
        self._mode: int | None = None

    @property
    def url(self) -> str:
        return self._url

    def put(self, key: str, data: BytesLike) -> None:
        self.put_parts(key, [data])

    def put_parts(self, key: str, parts: Sequence[BytesLike]) -> None:
        """Set a value, given in pieces; none of them is copied."""
        check_key(key)
        path = f"{self._root}/{key}"
        partial = self._name_aside(path)
        with self._refusals("write", key):
            try:
                write_new(partial, parts, self._file_mode())
                os.replace(partial, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(partial)
                raise

    def put_all(self, items: Sequence[tuple[str, BytesLike]]) -> int:
        """Set some of several values, in order; return how many: all, while they are small.

        The interpreter is free all the time, and not handed over and back for each file.
        """
        for key, _ in items:
            check_key(key)
        together = list(itertools.takewhile(_is_small, items)) if write_files is not None else []
        if not together:
            for key, data in items[:1]:
                self.put(key, data)
            return len(items[:1])
        paths = [f"{self._root}/{key}" for key, _ in together]
        with self._refusals("write", together[0][0]):
            done, error = write_files(
                [
                    (os.fsencode(self._name_aside(path)), os.fsencode(path), bytes(data))
                    for path, (_, data) in zip(paths, together, strict=True)
                ],
                self._file_mode(),
            )
            if not done:
                raise OSError(error, os.strerror(error))
        return done

    def create(self, key: str, data: BytesLike) -> bool:
        check_key(key)
        path = f"{self._root}/{key}"
        with self._refusals("write", key), self._aside(path, data) as partial:
            try:
                os.link(partial, path)
            except FileExistsError:
                # NFS may repeat a request and find what it did the first time: our own link.
                return os.stat(partial).st_nlink > 1
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                return _claim_and_replace(partial, path)
            return True

    def append(self, key: str, data: BytesLike) -> None:
        """Add to the end of a value, new or not, for programs that follow a file as it grows.

        They may see a part of what is added, and it is left there by a writer that is killed.
        """
        check_key(key)
        path = f"{self._root}/{key}"
        with self._refusals("write", key), self._open_to_append(path) as file:
            size = file.seek(0, os.SEEK_END)
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError:
                file.truncate(size)
                raise

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        check_key(key)
        check_range(start, length)
        with self._refusals("read", key), _opened(self._root, key) as file:
            if start:
                file.seek(start)
            return file.read() if length is None else file.read(length)

    def size(self, key: str) -> int:
        check_key(key)
        with self._refusals("read", key), _opened(self._root, key) as file:
            return os.fstat(file.fileno()).st_size

    def list(self, prefix: str = "", after: str = "") -> builtins.list[str]:
        """Return the keys that start with ``prefix`` and sort after ``after``, ascending.

        Folders that cannot hold such keys are not opened.
        """
        check_prefix(prefix)
        folder = prefix[: prefix.rfind("/") + 1]
        keys: builtins.list[str] = []
        with self._refusals("list", prefix):
            self._collect(folder, prefix[len(folder) :], after, keys)
        return keys

    def delete(self, key: str) -> None:
        check_key(key)
        path = f"{self._root}/{key}"
        with self._refusals("delete", key), suppress(*_NO_VALUE):
            os.unlink(path)

    def _collect(self, folder: str, start: str, after: str, keys: builtins.list[str]) -> None:
        """Append, in order, the keys in ``folder`` whose next name begins with ``start``."""
        if not after.startswith(folder):
            if after > folder:
                return  # all that is here sorts before
            after = ""
        for name in _names_in(f"{self._root}/{folder}", start, after[len(folder) :]):
            key = folder + name
            if name.endswith("/"):
                self._collect(key, "", after, keys)
            else:
                keys.append(key)

    def _file_mode(self) -> int:
        """Return who may read and write a new file, less the umask; make the folder if need be."""
        if self._mode is None or not os.path.isdir(self._root):
            folder = _in_folder(f"{self._root}/", make_private_folder, lambda: os.stat(self._root))
            self._mode = folder.st_mode & 0o666
        return self._mode

    def _open_to_append(self, path: str) -> IO[bytes]:
        mode = self._file_mode()
        return in_its_folder(
            path,
            lambda: open(path, "ab", 0, opener=lambda name, flags: os.open(name, flags, mode)),
        )

    @contextmanager
    def _aside(self, path: str, data: BytesLike) -> Iterator[str]:
        """Write to a new hidden file beside ``path``; it is gone again at the end."""
        partial = self._name_aside(path)
        try:
            write_new(partial, [data], self._file_mode())
            yield partial
        finally:
            with suppress(OSError):
                os.unlink(partial)

    def _name_aside(self, path: str) -> str:
        folder = os.path.dirname(path)
        return f"{folder}/.{os.getpid()}-{self._nonce}-{next(self._counter)}{PARTIAL}"

    @contextmanager
    def _refusals(self, verb: str, key: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if verb == "read" and isinstance(error, _NO_VALUE):
                raise FileNotFoundError(f"no {key} in {self._root}") from error
            # what O_NOFOLLOW says of a link, in the words of Linux and macOS
            is_link = verb == "read" and error.errno == errno.ELOOP
            why = "it is a link, and links in a run are not followed" if is_link else error.strerror
            kind = StoreAway if error.errno in _AWAY else StoreError
            if verb == "read" and error.errno in _NOT_A_FILE:
                kind = NotAFile
            refusal = kind(f"cannot {verb} {key} in {self._root}: {why or error}")
            refusal.errno = error.errno
            raise refusal from error


def _path_of(location: str) -> Path:
    scheme = scheme_of(location)
    if scheme not in ("", "file") or not location:
        raise ConfigError(f"a local store needs a folder, got {location!r}")
    if scheme:
        host, slash, path = location[len("file://") :].partition("/")
        if host not in ("", "localhost") or not slash:
            raise ConfigError(f"{location} names the host {host!r}; write file:///path")
        location = "/" + unquote(path)
    return Path(location).expanduser().absolute()


def local_path(url: str) -> str:
    """Return a URL as people write it: the path of a local one, any other as it is.

    Example:
        >>> local_path("file:///runs/a%20b"), local_path("s3://bucket/run")
        ('/runs/a b', 's3://bucket/run')
    """
    return str(_path_of(url)) if scheme_of(url) == "file" else url


def _is_small(item: tuple[str, BytesLike]) -> bool:
    return isinstance(item[1], bytes) or memoryview(item[1]).nbytes <= _SMALL_BYTES


def _opened(root: str, key: str) -> IO[bytes]:
    """Open what lies under a key to be read: a file in the folder itself, and nothing else.

    What is in the folder may be a stranger's. No link in it is followed, wherever it leads, and
    what is no regular file is not waited for. A file of several names that belongs to another
    user than its folder may have been linked there by who could not read it.

    Raises:
        OSError: There is none, or it is of another kind.
    """
    *folders, name = key.split("/")
    opened = [os.open(root, _FOLDER)] if _BY_FOLDER else []
    try:
        if not opened:
            file = os.open(f"{root}/{key}", _READ)
        else:
            for folder in folders:
                opened.append(_open_folder(folder, opened[-1]))
            file = os.open(name, _READ | _NO_LINK, dir_fd=opened[-1])
            try:
                _check_regular(os.fstat(file), os.fstat(opened[-1]))
            except BaseException:
                os.close(file)
                raise
    finally:
        for folder_number in opened:
            os.close(folder_number)
    return open(file, "rb")


def _open_folder(name: str, parent: int) -> int:
    try:
        return os.open(name, _FOLDER | _NO_LINK, dir_fd=parent)
    except NotADirectoryError:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            raise OSError(errno.ELOOP, "a link") from None
        raise


def _check_regular(file: os.stat_result, folder: os.stat_result) -> None:
    """Raise OSError if a file is none, or may be somebody else's by another name."""
    if stat.S_ISDIR(file.st_mode):
        raise IsADirectoryError
    if not stat.S_ISREG(file.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file, and is not opened")
    if file.st_nlink > 1 and file.st_uid != folder.st_uid:
        raise OSError(errno.EPERM, "it is a hard link to a file of another user, and is not opened")


def _names_in(folder: str, start: str, after: str) -> list[str]:
    """Return the names in a folder by which keys go on, ascending; ``/`` ends those of folders.

    Args:
        folder: Need not exist.
        start: What the names must start with.
        after: What keys must sort after, from this folder on. A folder is left out only if all
            in it sorts before.
    """
    names: list[str] = []
    try:
        entries = os.scandir(folder)
    except _NO_VALUE:
        return names
    with entries:
        for entry in entries:
            name = entry.name
            # Only of these few the type is needed, which may cost a call of the system.
            if name.startswith(start) and (name > after or after.startswith(name)):
                if entry.is_dir(follow_symlinks=False):
                    names.append(f"{name}/")
                elif name > after and not name.endswith(PARTIAL):
                    names.append(name)
    # With its "/", a folder sorts as all the keys in it do among its siblings.
    return sorted(names)


def _claim_and_replace(partial: str, path: str) -> bool:
    """Create where the file system has no hard links; a writer killed here blocks the key."""
    folder, name = os.path.split(path)
    claim = f"{folder}/.{name}.claim{PARTIAL}"
    try:
        os.close(os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    try:
        if os.path.lexists(path):
            return False
        os.replace(partial, path)
        return True
    finally:
        os.unlink(claim)
