"""LocalStore against the contract, and what only a disk can do wrong."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stepwatch.errors import ConfigError, StoreError
from stepwatch.store import StoreFile, local, open_store, put_all
from stepwatch.store.local import LocalStore, write_new
from stepwatch.testing.store_contract import StoreContract


def put_one(store):
    return lambda key, data: put_all(store, [(key, data)])


def files_under(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


class TestLocalStore(StoreContract):
    """A folder that does not exist yet, below one that does not either."""

    @pytest.fixture
    def store(self, tmp_path):
        return LocalStore(tmp_path / "not yet" / "run #1 100%")

    def set_raw(self, store, key, data):
        path = self.folder(store) / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def get_raw(self, store, key):
        return (self.folder(store) / key).read_bytes()

    def folder(self, store):
        return Path(store._root)

    @pytest.fixture(params=[True, False], ids=["kernel", "one by one"])
    def in_kernel(self, request, monkeypatch):
        if not request.param:
            monkeypatch.setattr(local, "write_files", None)
        elif local.write_files is None:
            pytest.skip("built without a C compiler")
        return request.param

    def test_without_the_kernel_values_are_put_one_by_one(self, store, monkeypatch):
        """``put_all`` keeps its laws where there is no C compiler."""
        monkeypatch.setattr(local, "write_files", None)
        self.test_put_all_writes_the_bytes_and_nothing_else(store)
        self.test_put_all_sets_what_comes_before_a_refusal(LocalStore(self.folder(store) / "new"))

    @pytest.mark.skipif(local.write_files is None, reason="built without a C compiler")
    def test_small_values_are_one_call_and_large_views_are_not_copied(self, store):
        """Steps of hundreds of values go at once; one that takes a while goes alone."""
        small = [(f"s/{number}", bytearray(9)) for number in range(200)]
        large = ("large", memoryview(bytes(2 << 20)))

        assert len(small) == put_all(store, [*small, large, *small])
        assert 1 == put_all(store, [large, *small])

    def test_what_is_written_is_for_this_user_alone(self, store, in_kernel):
        """Whichever way it is written, and whatever the umask would allow."""
        before = os.umask(0o022)
        try:
            assert put_all(store, [("new/folder/key", b"")]) == 1
            store.append("log", b"line")
        finally:
            os.umask(before)
        root = self.folder(store)
        files = [(root / name).stat().st_mode & 0o777 for name in ("new/folder/key", "log")]

        assert [0o600, 0o600] == files
        assert root.stat().st_mode & 0o777 == 0o700

    def test_a_folder_that_is_there_says_who_may_read(self, store, in_kernel):
        """Less the umask, whichever way it is written."""
        before = os.umask(0o027)
        try:
            self.folder(store).mkdir(parents=True)
            self.folder(store).chmod(0o755)
            assert put_all(store, [("new/folder/key", b"")]) == 1
        finally:
            os.umask(before)
        folder = self.folder(store) / "new"
        modes = [path.stat().st_mode & 0o777 for path in (folder / "folder/key", folder)]

        assert [0o640, 0o750] == modes

    def test_a_name_that_is_not_utf_8_is_written_too(self, tmp_path, in_kernel):
        """Folders of other systems may have any bytes in their names."""
        store = LocalStore(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
        assert put_all(store, [("a/b", b"value")]) == 1

        assert store.get("a/b") == b"value"

    @pytest.mark.parametrize("name", ["key", "folder/key"])
    def test_links_are_not_followed(self, store, tmp_path, name):
        """Neither one that is a value, nor a folder on the way to it."""
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "key").write_bytes(b"secret")
        root = self.folder(store)
        root.mkdir(parents=True)
        (root / name.partition("/")[0]).symlink_to(outside if "/" in name else outside / "key")

        for read in (store.get, store.size):
            with pytest.raises(StoreError, match="it is a link, and links in a run are not"):
                read(name)
        assert [name.partition("/")[0]] == store.list()

    @pytest.mark.parametrize("kind", [stat.S_IFIFO, stat.S_IFSOCK], ids=["fifo", "socket"])
    def test_what_is_no_file_is_neither_opened_nor_waited_for(self, store, kind):
        """A FIFO to which nobody writes would be waited for."""
        store.put("a", b"1")
        os.mknod(self.folder(store) / "key", kind | 0o600)

        for read in (store.get, store.size):
            with pytest.raises(StoreError, match="cannot read key"):
                read("key")

    @pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs two users")
    def test_a_link_to_a_file_of_another_user_is_not_read(self, store):
        """Who owns the folder may be unable to read the file, and have linked it here."""
        store.put("key", b"1")
        os.link(self.folder(store) / "key", self.folder(store) / "copy")
        assert store.get("copy") == b"1"
        os.chown(self.folder(store), 12345, 12345)

        with pytest.raises(StoreError, match="a hard link to a file of another user"):
            store.get("copy")

    def test_reading_makes_nothing(self, store, tmp_path):
        """Only a put makes folders."""
        store.list("a/")
        store.delete("a/b")
        for read in (store.get, store.size):
            with pytest.raises(FileNotFoundError):
                read("a/b")

        assert list(tmp_path.iterdir()) == []

    def test_nothing_is_left_aside(self, store):
        """Won, lost or replaced, each call leaves the value and no other file."""
        store.put("a/b", b"1")
        store.put("a/b", b"2")
        store.create("a/c", b"1")
        store.create("a/c", b"2")
        put_all(store, [("a/b", b"3"), ("a/d", b"1")])

        assert files_under(self.folder(store)) == ["a/b", "a/c", "a/d"]

    def test_leftovers_of_dead_writers_are_no_keys(self, store):
        """A file that a killed writer left aside is neither listed nor in the way."""
        self.set_raw(store, "a/.1234-00c0ffee-0.partial", b"hal")
        store.put("a/b", b"whole")

        assert store.list() == store.list("a/") == ["a/b"]

    @pytest.mark.parametrize(
        "write",
        [
            "store.put(f'{turn % 7}', value)",
            "put_all(store, [(f'{number}', value) for number in range(7)])",
        ],
    )
    def test_a_writer_killed_at_any_moment_leaves_whole_values(self, store, write):
        """After SIGKILL in the middle of puts, every listed value is whole."""
        script = (
            "import itertools, sys\nfrom stepwatch.store import open_store, put_all\n"
            "store = open_store(sys.argv[1])\n"
            "for turn in itertools.count():\n"
            "    value = bytes([turn % 256]) * 200_000\n"
            f"    {write}\n"
            "    print(turn, flush=True)\n"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        for turns in (1, 5, 20):
            writer = subprocess.Popen(
                [sys.executable, "-c", script, store.url], stdout=subprocess.PIPE, env=environment
            )
            for _ in range(turns):
                writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)
            writer.communicate()

            values = [store.get(key) for key in store.list()]
            assert values
            assert {(len(value), len(set(value))) for value in values} == {(200_000, 1)}

    def test_a_file_in_the_way_is_one_clear_line(self, store):
        """A folder that cannot be made is a StoreError with key, folder, reason and errno."""
        store.put("a", b"")
        for write in (store.put, store.create, put_one(store)):
            with pytest.raises(StoreError) as caught:
                write("a/b/c", b"")
            assert (
                str(caught.value) == f"cannot write a/b/c in {self.folder(store)}: Not a directory"
            )
            assert caught.value.errno == errno.ENOTDIR

    def test_a_folder_in_the_way_is_refused(self, store):
        """A key cannot be written where keys lie below it, and they stay."""
        store.put("a/b", b"old")
        with pytest.raises(StoreError, match="Is a directory"):
            store.put("a", b"new")
        with pytest.raises(StoreError, match=r"cannot write a in .*Is a directory"):
            put_one(store)("a", b"new")

        assert files_under(self.folder(store)) == ["a/b"]

    def test_a_read_only_file_system_is_one_clear_line(self):
        """Where even root may not write, the message says so; reading goes on."""
        store = LocalStore("/proc/self")
        with pytest.raises(StoreError, match=r"cannot write run\.json in /proc/self: ") as caught:
            store.put("run.json", b"")

        assert caught.value.errno in (errno.ENOENT, errno.EACCES, errno.EROFS, errno.EPERM)
        assert store.get("comm")

    def test_a_full_disk_is_one_clear_line_and_keeps_what_was(self, tmp_path):
        """No space: StoreError with ENOSPC, the old value whole, nothing left aside."""
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("only root can mount a small disk to fill")
        try:
            store = LocalStore(tmp_path)
            store.put("a/b", b"old")
            writes = ((store.put, "a/b"), (store.create, "a/c"), (put_one(store), "a/d"))
            for write, key in writes:
                with pytest.raises(StoreError, match=f"cannot write {key} in .*No space") as caught:
                    write(key, bytes(1_000_000))
                assert caught.value.errno == errno.ENOSPC
            assert store.get("a/b") == b"old"
            assert files_under(tmp_path) == ["a/b"]
        finally:
            subprocess.run(["umount", str(tmp_path)], check=True)

    def test_a_failed_read_says_why(self, store, monkeypatch):
        """What is there and cannot be read is not called missing."""
        store.put("a", b"")
        denied = PermissionError(errno.EACCES, "Permission denied")
        monkeypatch.setattr("builtins.open", lambda *_: (_ for _ in ()).throw(denied))
        with pytest.raises(StoreError, match=r"cannot read a in .*Permission denied") as caught:
            store.get("a")

        assert caught.value.errno == errno.EACCES

    def test_create_without_hard_links_has_one_winner_too(self, store, monkeypatch):
        """On a file system without hard links the threads' race ends the same way."""

        def refuse(*_):
            raise OSError(errno.ENOTSUP, "Operation not supported")

        monkeypatch.setattr(os, "link", refuse)
        self.test_threads_race_to_create_and_one_wins(store)
        self.test_create_sets_only_what_is_not_there(LocalStore(self.folder(store) / "empty"))

        assert all(".claim" not in name for name in files_under(self.folder(store)))

    def test_list_opens_only_folders_that_can_match(self, store, monkeypatch):
        """Neither siblings of the prefix nor folders that sort before ``after`` are opened."""
        for worker in "0123":
            store.put(f"observations/worker_{worker}/0.parquet", b"")
            store.put(f"tensors/worker_{worker}/0.safetensors", b"")
        opened = []
        scandir = os.scandir
        monkeypatch.setattr(os, "scandir", lambda path: opened.append(path) or scandir(path))
        store.list("observations/", after="observations/worker_2/1.parquet")

        root = f"{self.folder(store)}/observations/"
        assert opened == [root, f"{root}worker_2/", f"{root}worker_3/"]

    def test_pyarrow_reads_ranges_through_a_store_file(self, store):
        """A Parquet file in a store can be opened without reading it whole."""
        table = pa.table({"step": list(range(1000))})
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, row_group_size=100)
        store.put("part.parquet", sink.getvalue())
        file = pq.ParquetFile(pa.PythonFile(StoreFile(store, "part.parquet"), mode="r"))

        assert file.num_row_groups == 10
        assert file.read_row_group(3)["step"].to_pylist() == list(range(300, 400))


class TestOpenStore:
    """One function from a URL to a store."""

    def test_paths_and_file_urls_are_local(self, tmp_path, monkeypatch):
        """A path, absolute or not, and its URL are one store."""
        folder = tmp_path / "a b#c"
        monkeypatch.chdir(tmp_path)
        stores = [open_store(folder), open_store(str(folder)), open_store("a b#c")]
        stores += [open_store(folder.as_uri()), open_store(f"file://{folder}")]

        assert {store.url for store in stores} == {folder.as_uri()}

    @pytest.mark.parametrize("url", ["file://host/path", "file://", ""])
    def test_what_is_no_folder_is_refused(self, url):
        """Another host's file is not read from this one, and nothing is not the root."""
        with pytest.raises(ConfigError):
            open_store(url)

    def test_unknown_schemes_name_those_that_exist(self):
        """The message says what was asked and what there is."""
        with pytest.raises(
            ConfigError,
            match=r"no store is installed for fil://.*file, .*memory.*did you mean file",
        ):
            open_store("fil://somewhere")

    def test_schemes_of_plug_ins_are_called_with_the_url(self, tmp_path, monkeypatch):
        """An entry point in ``stepwatch.stores`` makes its scheme work."""
        info = tmp_path / "plug-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[stepwatch.stores]\nplug = plug_store:Plug\n")
        (tmp_path / "plug_store.py").write_text(
            "class Plug:\n    def __init__(self, url): self.url = url\n"
        )
        monkeypatch.syspath_prepend(tmp_path)

        from stepwatch.plugins import registry

        registry.forget()
        try:
            assert open_store("plug://bucket/run").url == "plug://bucket/run"
        finally:
            registry.forget()


class TestLargeFiles:
    """Their space is taken before they are written."""

    def test_they_hold_what_was_given(self, tmp_path):
        """To the byte, wherever the pieces end."""
        parts = [b"a" * 3, b"b" * (5 << 20), b"c"]
        write_new(str(tmp_path / "new"), parts)
        assert b"".join(parts) == (tmp_path / "new").read_bytes()

    def test_a_full_disk_says_so_before_a_byte_is_written(self, tmp_path, monkeypatch):
        """As the error that writing would have ended with."""
        monkeypatch.setattr(local, "_fallocate", lambda: no_space)
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            write_new(str(tmp_path / "new"), [bytes(5 << 20)])
        assert 0 == (tmp_path / "new").stat().st_size

    def test_a_file_system_that_cannot_is_written_to_as_ever(self, tmp_path, monkeypatch):
        """Taking the space is no promise of every file system."""
        monkeypatch.setattr(local, "_fallocate", lambda: not_supported)
        write_new(str(tmp_path / "new"), [bytes(5 << 20)])
        assert 5 << 20 == (tmp_path / "new").stat().st_size


def not_supported(*_):
    ctypes.set_errno(errno.EOPNOTSUPP)
    return -1


def no_space(*_):
    ctypes.set_errno(errno.ENOSPC)
    return -1


@pytest.mark.parametrize("write", ["put", "append"])
def test_a_folder_that_another_process_removes_is_made_again(tmp_path, monkeypatch, write):
    """As a worker does at its end, that saw nothing and finds its run empty."""
    made, mkdir = [], os.mkdir

    def removed_once(path, mode):
        mkdir(path, mode)
        made.append(path)
        if len(made) == 1:
            os.rmdir(path)

    monkeypatch.setattr(os, "mkdir", removed_once)
    store = LocalStore(tmp_path / "run")
    getattr(store, write)("key", b"value")

    assert b"value" == store.get("key")
    assert 2 == len(made)
