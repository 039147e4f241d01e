"""What a job brings into its folder: whole, under its own names, and nowhere else."""

from __future__ import annotations

import tarfile

import pytest

from stepwatch.errors import ConfigError
from stepwatch.jobs import artifacts
from stepwatch.jobs.artifacts import copy_files, fetch
from stepwatch.jobs.paths import JobPaths
from stepwatch.jobs.spec import JobSpec
from stepwatch.store import open_store


@pytest.fixture
def paths(tmp_path):
    paths = JobPaths(tmp_path / "jobs", "job")
    paths.make()
    return paths


@pytest.fixture
def store(request):
    store = open_store(f"memory://{request.node.name}")
    for key in ("data/a.csv", "data/b/c.csv", "data-old/d.csv", "data.txt"):
        store.put(key, key.encode())
    return store


def files(folder):
    """Return the names of all files below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


class TestChannels:
    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("/data", ["a.csv", "b/c.csv"]),
            ("/data/", ["a.csv", "b/c.csv"]),
            ("/data.txt", ["data.txt"]),
            ("", ["data-old/d.csv", "data.txt", "data/a.csv", "data/b/c.csv"]),
        ],
    )
    def test_a_folder_or_one_file_of_a_store(self, paths, store, url, expected):
        """Not what only begins like it."""
        fetch(JobSpec("job", "t.py", inputs={"training": f"{store.url}{url}"}), paths)
        assert expected == files(paths.root / "input" / "data" / "training")

    def test_a_folder_and_a_file_of_this_machine(self, paths, tmp_path):
        """They are shown where they are, and not copied."""
        (tmp_path / "set").mkdir()
        (tmp_path / "set" / "a.csv").write_text("1")
        both = {"all": str(tmp_path / "set"), "one": str(tmp_path / "set" / "a.csv")}
        for _ in range(2):  # the second time after a restart
            fetch(JobSpec("job", "t.py", inputs=both), paths)
        data = paths.root / "input" / "data"

        assert (data / "all" / "a.csv").samefile(data / "one" / "a.csv")
        assert (data / "all").is_symlink()

    def test_nothing(self, paths, store):
        """Of a channel it is an error; of checkpoints it is the beginning."""
        with pytest.raises(ConfigError, match=r"there is nothing at memory://.*nosuch"):
            fetch(JobSpec("job", "t.py", inputs={"training": f"{store.url}/nosuch"}), paths)
        fetch(JobSpec("job", "t.py", checkpoints=f"{store.url}/nosuch"), paths)

    @pytest.mark.parametrize("key", ["data/../../../out", "data//etc/out", "data/./out"])
    def test_no_key_leads_out_of_the_folder(self, tmp_path, monkeypatch, key):
        """A bucket may hold such keys; ours refuses to set them."""

        class Bucket:
            def list(self, prefix):
                return [key]

        monkeypatch.setattr(artifacts, "open_store", lambda _: Bucket())
        with pytest.raises(ConfigError, match="is no key"):
            copy_files("s3://bucket/data", tmp_path / "a" / "b" / "channel")
        assert [] == files(tmp_path)


class TestSource:
    def test_an_archive_or_a_folder(self, paths, store, tmp_path):
        """Here or in a store."""
        (tmp_path / "train.py").write_text("print()")
        with tarfile.open(tmp_path / "source.tar.gz", "w:gz") as archive:
            archive.add(tmp_path / "train.py", "lib/train.py")
        store.put("source.tar.gz", (tmp_path / "source.tar.gz").read_bytes())
        for source in (f"{store.url}/source.tar.gz", str(tmp_path / "source.tar.gz")):
            fetch(JobSpec("job", "lib/train.py", source=source), paths)
            assert paths.script(JobSpec("job", "lib/train.py", source=source)).is_file()
            (paths.code / "lib" / "train.py").unlink()

        fetch(JobSpec("job", "train.py", source=str(tmp_path)), paths)
        assert (paths.code / "train.py").is_file()

    def test_a_script_that_is_not_in_it(self, paths, store):
        """It is said before anything is trained."""
        with pytest.raises(ConfigError, match=r"there is no train.py in memory://"):
            fetch(JobSpec("job", "train.py", source=f"{store.url}/data"), paths)
