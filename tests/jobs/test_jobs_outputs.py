"""What a job makes is copied as it comes, and all of it in the end."""

from __future__ import annotations

import os

import pytest

from stepwatch import Trial
from stepwatch.jobs.artifacts import FolderCopy
from stepwatch.store import open_store
from tests.support.jobs.living import TIMEOUT_S, TRAINS, submit, wait_for

__all__ = ["submit"]

# A checkpoint at once, and another one at the end.
CHECKPOINTS = """
import os, time
from pathlib import Path
folder = Path(os.environ["SM_CHECKPOINT_DIR"])
(folder / "first").write_text("1")
while not os.path.exists(os.environ["END"]):
    time.sleep(0.02)
(folder / "last").write_text("2")
"""


@pytest.fixture
def target(request):
    return open_store(f"memory://{request.node.name}")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "made").mkdir()
    return tmp_path / "made"


def held(store):
    """Return what a store holds."""
    return {key: store.get(key).decode() for key in store.list()}


class Counted:
    """A store that counts what is put."""

    def __init__(self, store):
        self._store, self.num_puts = store, 0

    def put(self, key, data):
        self.num_puts += 1
        self._store.put(key, data)


class TestWhatAScriptWrites:
    def test_a_file_is_copied_once_it_stays_as_it_is(self, folder, target):
        """Half of a checkpoint must not take the place of a whole one."""
        copy = FolderCopy(folder, target.url)
        (folder / "last.pt").write_text("half")
        copy.advance()
        assert {} == held(target)
        (folder / "last.pt").write_text("whole")
        copy.advance()
        assert {} == held(target)
        copy.advance()
        assert {"last.pt": "whole"} == held(target)

    def test_at_the_end_all_is_copied_and_nothing_again(self, folder, target):
        """Whatever was written last; in folders, too."""
        copy = FolderCopy(folder, target.url)
        (folder / "a").write_text("a")
        copy.advance()
        copy.advance()
        copy._target = counted = Counted(target)
        (folder / "epoch=1").mkdir()
        (folder / "epoch=1" / "b").write_text("b")
        copy.advance(at_end=True)

        assert {"a": "a", "epoch=1/b": "b"} == held(target)
        assert 1 == counted.num_puts

    def test_what_is_deleted_here_is_kept_there(self, folder, target):
        """A script that wipes its checkpoints wipes no others."""
        copy = FolderCopy(folder, target.url)
        (folder / "a").write_text("a")
        copy.advance(at_end=True)
        (folder / "a").unlink()
        copy.advance(at_end=True)

        assert {"a": "a"} == held(target)

    def test_a_folder_that_is_not_there_yet(self, folder, target):
        """There is nothing to copy."""
        FolderCopy(folder / "nosuch", target.url).advance(at_end=True)
        assert {} == held(target)

    def test_a_link_that_leads_nowhere_is_passed_over(self, folder, target):
        """And the rest is copied."""
        (folder / "latest").symlink_to(folder / "nosuch")
        (folder / "a").write_text("a")
        FolderCopy(folder, target.url).advance(at_end=True)

        assert {"a": "a"} == held(target)


class TestWhatWeWrite:
    def test_it_is_copied_at_once_and_again_as_it_grows(self, folder, target):
        """What is merged into another part goes there, too."""
        copy = FolderCopy(folder, target.url, is_ours=True)
        (folder / "0-0").write_text("0")
        (folder / "events").write_text("1")
        copy.advance()
        assert {"0-0": "0", "events": "1"} == held(target)
        (folder / "0-0").rename(folder / "0-9")
        (folder / "events").write_text("12")
        copy.advance()

        assert {"0-9": "0", "events": "12"} == held(target)


@pytest.mark.slow
class TestAJob:
    def test_checkpoints_are_elsewhere_while_it_trains(self, submit, tmp_path):
        """Who loses this machine goes on from them."""
        end, there = tmp_path / "end", tmp_path / "there"
        job = submit(CHECKPOINTS, checkpoints=str(there), environment={"END": str(end)})
        wait_for(lambda: (there / "first").exists() or job.status().has_ended, "no checkpoint")
        assert not job.status().has_ended
        end.touch()

        assert "Completed" == job.wait(TIMEOUT_S).status
        assert ["first", "last"] == sorted(os.listdir(there))

    def test_the_profile_is_elsewhere_while_it_trains(self, submit, tmp_path):
        """At the place that its configuration names."""
        job = submit(
            TRAINS,
            ["--lr", "0.1", "--steps", "100000000"],
            capture=True,
            profiler={"S3OutputPath": str(tmp_path / "there")},
        )
        place = tmp_path / "there" / job.name / "profiler-output" / "profile" / "system"
        wait_for(lambda: list(place.rglob("*.parquet")) or job.status().has_ended, "no profile")
        assert not job.status().has_ended
        job.stop()

        assert "Stopped" == job.wait(TIMEOUT_S).status
        here = {path.name for path in job.folder.glob("output/tensors/profile/system/*/*")}
        assert here == {path.name for path in place.glob("*/*")}

    def test_what_begins_anew_leaves_nothing_of_the_attempt_before(self, submit, tmp_path):
        """By a hook of SageMaker's manner; neither here nor in the copy."""
        mark = tmp_path / "mark"
        text = f"import pathlib; p = pathlib.Path({str(mark)!r}); n = p.exists(); p.touch()\n"
        text += TRAINS.replace("range(", "range(5 if n else ")
        text += "if not n: raise RuntimeError('at the end')\n"
        hook = {
            "S3OutputPath": str(tmp_path / "out"),
            "HookParameters": {"save_interval": "1"},
            "CollectionConfigurations": [{"CollectionName": "weights"}],
        }
        job = submit(text, ["--lr", "0.1"], capture=True, hook=hook, retries=1)

        assert "Completed" == job.wait(TIMEOUT_S).status, job.status().failure
        for run in (job.run, tmp_path / "out" / job.name / "debug-output"):
            assert [0, 1, 2, 3, 4] == Trial(run).steps()
