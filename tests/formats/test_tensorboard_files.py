"""The files for TensorBoard: followed as they grow, whole after every accident."""

from __future__ import annotations

import errno
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.errors import StoreError
from stepwatch.formats import tensorboard
from stepwatch.formats.tensorboard import GATHER_BYTES, GATHER_S, GATHER_WHOLE_S, TensorBoardWriter
from stepwatch.model.steps import Mode
from stepwatch.store import open_store
from stepwatch.store.local import LocalStore
from tests.support.formats.tensorboard_steps import END, curve, events, files, seen, step_of

LOSS = "loss/a"


def loss_at(step, mode=Mode.TRAIN):
    return step_of({LOSS: float(step)}, step, mode=mode)


def losses(*steps):
    return [(step, float(step)) for step in steps]


@pytest.fixture
def clock():
    """A clock that is set by hand."""

    class Clock:
        now = 0.0

        def __call__(self):
            return self.now

    return Clock()


@pytest.fixture
def writer(tmp_path, clock):
    return TensorBoardWriter(str(tmp_path), "worker_0", clock=clock)


@pytest.fixture
def refusing(monkeypatch):
    """Let the store refuse to append while ``refusing.on``."""

    class Refusing:
        on = True

    append = LocalStore.append

    def append_or_not(self, key, data):
        if Refusing.on:
            raise StoreError("no space")
        append(self, key, data)

    monkeypatch.setattr(LocalStore, "append", append_or_not)
    return Refusing


class TestGrowing:
    def test_tensorboard_follows_a_run_while_it_trains(self, writer, tmp_path):
        """Reading again shows what was added, each point once."""
        writer.write(loss_at(0))
        writer.flush()
        read = seen(tmp_path)
        assert losses(0) == curve(read, LOSS)

        for step in (1, 2):
            writer.write(loss_at(step))
        writer.flush()
        assert losses(0, 1, 2) == curve(read.Reload(), LOSS)
        assert 1 == len(files(tmp_path))

    def test_steps_are_gathered_for_less_than_a_second(self, writer, clock, tmp_path):
        """Not each is a write of its own, and none waits long."""
        writer.write(loss_at(0))
        clock.now = GATHER_S - 0.01
        writer.write(loss_at(1))
        writer.tick()
        assert not any(tmp_path.iterdir())

        clock.now = GATHER_S
        writer.tick()
        assert losses(0, 1) == curve(seen(tmp_path), LOSS)

    def test_what_is_gathered_is_bounded(self, writer, tmp_path):
        """By its size as well, whatever the clock says."""
        many = {f"output/{number}": 1.0 for number in range(1000)}
        template = step_of(many)
        num_steps = GATHER_BYTES // (1000 * 15)  # a point takes more bytes
        for step in range(num_steps):
            writer.write(replace(template, step=step))
        (path,) = files(tmp_path)
        assert GATHER_BYTES <= path.stat().st_size < 1.1 * GATHER_BYTES

    def test_a_file_says_its_version_first(self, writer, tmp_path):
        """So that TensorBoard takes steps that go back as such."""
        writer.write(loss_at(0))
        writer.close(END)
        assert ["brain.Event:2", ""] == [event.file_version for event in events(files(tmp_path)[0])]

    def test_a_run_with_nothing_to_show_has_no_file(self, writer, tmp_path):
        """TensorBoard would show an empty run."""
        writer.write(step_of({"output/a": np.ones(3)}))
        writer.close(END)
        assert not any(tmp_path.iterdir())

    def test_writers_never_share_a_file(self, tmp_path):
        """Even if one process makes two within a second."""
        for step in range(2):
            writer = TensorBoardWriter(str(tmp_path), "worker_0")
            writer.write(loss_at(step))
            writer.close(END)
        assert 2 == len(files(tmp_path))


class TestAccidents:
    @given(st.integers(1, 80))
    def test_a_torn_end_hides_only_itself(self, tmp_path_factory, cut):
        """What a killed process leaves: TensorBoard shows all before, and what a next run adds."""
        folder = tmp_path_factory.mktemp("torn")
        for step in range(3):
            writer = TensorBoardWriter(str(folder), "worker_0")
            writer.write(loss_at(step))
            writer.close(END)
        _, torn, _ = files(folder)
        data = torn.read_bytes()
        torn.write_bytes(data[: max(0, len(data) - cut)])

        assert losses(0, 2) == curve(seen(folder), LOSS)

    def test_a_flipped_bit_is_noticed(self, writer, tmp_path):
        """The checksums are true ones; TensorBoard shows nothing from there on."""
        for step in range(2):
            writer.write(loss_at(step))
        writer.close(END)
        (path,) = files(tmp_path)
        data = bytearray(path.read_bytes())
        data[-10] ^= 1
        path.write_bytes(data)

        assert losses(0) == curve(seen(tmp_path), LOSS)

    def test_what_a_store_refuses_is_counted(self, writer, refusing):
        """And raised, for the log."""
        for step in range(2):
            writer.write(loss_at(step))
        with pytest.raises(StoreError, match="no space"):
            writer.flush()
        assert 2 == writer.lost

    def test_after_a_refusal_another_file_is_begun(self, writer, refusing, tmp_path):
        """Nothing is written behind what may be torn, and TensorBoard goes on there."""
        refusing.on = False
        writer.write(loss_at(0))
        writer.flush()
        read = seen(tmp_path)
        refusing.on = True
        for step in (1, 2):
            writer.write(loss_at(step))
            with pytest.raises(StoreError):
                writer.flush()
        refusing.on = False
        writer.write(loss_at(3))
        writer.flush()

        assert losses(0, 3) == curve(read.Reload(), LOSS)
        assert 2 == len(files(tmp_path))

    def test_a_refusal_of_one_mode_does_not_hurt_the_others(self, writer, tmp_path):
        """Each has its own file."""
        (tmp_path / "TRAIN").write_text("in the way")
        writer.write(loss_at(0))
        writer.write(loss_at(1, Mode.EVAL))
        with pytest.raises(StoreError):
            writer.flush()

        assert losses(1) == curve(seen(tmp_path, "EVAL"), LOSS)
        assert 1 == writer.lost

    def test_a_step_that_cannot_be_shown_is_counted(self, writer, monkeypatch):
        """Whatever went wrong with it; the next ones are shown."""
        monkeypatch.setattr("stepwatch.formats.tensorboard.histogram", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            writer.write(step_of({"w": np.ones(3)}, raw=True))
        writer.write(loss_at(1))
        assert 1 == writer.lost

    def test_a_folder_that_was_deleted_comes_back(self, writer, tmp_path):
        """What was in it is gone; training goes on, and so do the curves."""
        writer.write(loss_at(0))
        writer.flush()
        shutil.rmtree(tmp_path / "TRAIN")
        writer.write(loss_at(1))
        writer.flush()
        assert losses(1) == curve(seen(tmp_path), LOSS)

    def test_what_is_refused_half_way_is_taken_back(self, tmp_path, monkeypatch):
        """On a disk that is full, the file ends where it did."""
        store = LocalStore(tmp_path)
        store.append("a/b", b"before")

        class Full:
            def __init__(self, file):
                self._file = file
                self.truncate, self.seek = file.truncate, file.seek

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self._file.close()

            def write(self, data):
                if len(data) < 5:
                    raise OSError(errno.ENOSPC, "no space left")
                return self._file.write(data[:2])

        full = lambda *of, **how: Full(open(*of, **how))  # noqa: E731, SIM115
        monkeypatch.setattr("stepwatch.store.local.open", full, raising=False)
        with pytest.raises(StoreError, match="cannot write a/b"):
            store.append("a/b", b"and more")
        assert b"before" == (tmp_path / "a" / "b").read_bytes()


class TestWholeValues:
    """Stores that cannot append."""

    @pytest.fixture
    def copied(self, tmp_path):
        """Return a function that copies what a store holds to a folder; TensorBoard reads files."""

        def copy(store):
            for key in store.list():
                path = tmp_path / "copy" / key
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(store.get(key))
            return Path(tmp_path / "copy")

        return copy

    @pytest.fixture
    def writer(self, clock, tmp_path):
        return TensorBoardWriter(f"memory://{tmp_path}", "worker_0", clock=clock)

    def test_a_file_is_stored_anew_as_it_grows(self, writer, copied, tmp_path):
        """A reader that follows it by size finds all that it had before."""
        store = open_store(f"memory://{tmp_path}")
        before = b""
        for step in range(3):
            writer.write(loss_at(step))
            writer.flush()
            (key,) = store.list()
            assert store.get(key).startswith(before)
            before = store.get(key)
        assert losses(0, 1, 2) == curve(seen(copied(store)), LOSS)

    def test_a_large_file_is_followed_by_another(self, writer, copied, tmp_path, monkeypatch):
        """So that what is stored again stays small; TensorBoard reads them in order."""
        monkeypatch.setattr(tensorboard, "WHOLE_BYTES", 150)
        store = open_store(f"memory://{tmp_path}")
        for step in range(9):
            writer.write(loss_at(step))
            writer.flush()

        assert 3 == len(store.list())
        assert all(150 + 100 > store.size(key) for key in store.list())
        assert losses(*range(9)) == curve(seen(copied(store)), LOSS)

    def test_it_is_stored_less_often(self, writer, clock, tmp_path):
        """Each time costs a whole file."""
        writer.write(loss_at(0))
        clock.now = GATHER_WHOLE_S - 0.01
        writer.tick()
        assert [] == open_store(f"memory://{tmp_path}").list()
        clock.now = GATHER_WHOLE_S
        writer.tick()
        assert 1 == len(open_store(f"memory://{tmp_path}").list())
