"""The compiled writer of small files refuses what is none before it writes anything."""

from __future__ import annotations

import errno
import sys

import pytest

resource = pytest.importorskip("resource")
_kernel = pytest.importorskip("stepwatch._kernel")
if not hasattr(_kernel, "write_files"):
    pytest.skip("not on this system", allow_module_level=True)


def new_file(folder, name, data=b"data"):
    path = bytes(folder / name)
    return path + b".aside", path, data


class TestWriteFiles:
    @pytest.mark.parametrize(
        ("wrong", "error"),
        [
            (["aside", b"path", b"data"], TypeError),
            ((b"aside", b"path"), TypeError),
            (("aside", b"path", b"data"), TypeError),
            ((b"aside", b"path", bytearray(b"data")), TypeError),
            ((b"aside", b"pa\0th", b"data"), ValueError),
        ],
    )
    def test_what_is_no_file_is_refused(self, tmp_path, wrong, error):
        """The error comes before the first file is made."""
        with pytest.raises(error):
            _kernel.write_files([new_file(tmp_path, "first"), wrong])

        assert [] == list(tmp_path.iterdir())

    def test_it_stops_at_the_first_that_fails(self, tmp_path):
        """How many were written, and the errno of the next; nothing is left of that."""
        (tmp_path / "b").mkdir()
        found = _kernel.write_files([new_file(tmp_path, name) for name in "abc"])

        assert (1, errno.EISDIR) == found
        assert ["a", "b"] == sorted(path.name for path in tmp_path.iterdir())

    def test_folders_that_cannot_be_made_say_why(self, tmp_path):
        """Also several levels up."""
        (tmp_path / "file").write_bytes(b"")
        names = ["file/below", "file/far/below/it", f"{'x' * 300}/far/below"]
        found = [_kernel.write_files([new_file(tmp_path, name)]) for name in names]

        assert [(0, errno.ENOTDIR), (0, errno.ENOTDIR), (0, errno.ENAMETOOLONG)] == found

    def test_files_are_closed(self, tmp_path):
        """More files than a process may have open, of which a third is refused."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(128, hard), hard))
        try:
            (tmp_path / "in the way").mkdir()
            for _ in range(100):
                names = ("a", "b", "in the way")
                found = _kernel.write_files([new_file(tmp_path, name) for name in names])
                assert (2, errno.EISDIR) == found
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def test_nothing_is_kept(self, tmp_path):
        """The bytes that were written can be freed, whether all went well or not."""
        data = bytes(1000)
        before = sys.getrefcount(data)
        good, bad = new_file(tmp_path, "a", data), new_file(tmp_path / "a", "b", data)
        for files in ([good], [good, bad], [bad]):
            _kernel.write_files(files)
        with pytest.raises(TypeError):
            _kernel.write_files([good, None])
        del good, bad, files

        assert before == sys.getrefcount(data)
