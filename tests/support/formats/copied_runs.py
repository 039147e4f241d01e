"""Runs that are copied while they are written, and targets that refuse or look on."""

from __future__ import annotations

import numpy as np

from stepwatch.errors import StoreError
from stepwatch.formats import RunTarget, Selection, open_writer
from stepwatch.formats.copying import RunCopy
from stepwatch.formats.manifest import End, Manifest
from stepwatch.store.memory import MemoryStore
from stepwatch.testing.made_runs import make_record
from stepwatch.trial import Trial


class Noting(MemoryStore):
    """Tells a copy of what is set and deleted, as the store of a recorder does."""

    note = staticmethod(lambda key: None)

    def put(self, key, data):
        super().put(key, data)
        self.note(key)

    def create(self, key, data):
        done = super().create(key, data)
        self.note(key)
        return done

    def delete(self, key):
        super().delete(key)
        self.note(key)


class Refusing(MemoryStore):
    """Refuses what it is asked while ``is_away``, and counts how often."""

    is_away, refused = False, 0

    def _answer(self):
        if self.is_away:
            self.refused += 1
            raise StoreError("the network is away")

    def put(self, key, data):
        self._answer()
        super().put(key, data)

    def get(self, key, start=0, length=None):
        self._answer()
        return super().get(key, start, length)

    def list(self, prefix="", after=""):
        self._answer()
        return super().list(prefix, after)

    def delete(self, key):
        self._answer()
        super().delete(key)


class Looking(MemoryStore):
    """After every change a reader looks, and keeps which steps it sees."""

    def __init__(self, name):
        super().__init__(name)
        self.seen = []

    def put(self, key, data):
        super().put(key, data)
        self._look()

    def delete(self, key):
        super().delete(key)
        self._look()

    def _look(self):
        trial = Trial(MemoryStore(self.url))
        steps = trial.steps(incomplete=True)
        values = [float(record.raw["w"][0]) for (record,) in trial.records() if record.raw]
        self.seen.append((trial.state, steps, values))


class WrittenRun:
    """A run that one worker writes, step by step, each stored at once."""

    def __init__(self, store, format="native", *, run_id="made", num_workers=1, rank=0):
        manifest = Manifest(run_id, 0, run_format=format, num_workers=num_workers)
        self.worker, self.num_steps = f"worker_{rank}", 0
        place = RunTarget(store, self.worker, manifest, is_first=rank == 0)
        self._writer = open_writer(place, Selection())

    def step(self, *, flush=True, raw=True):
        value = np.full(2, self.num_steps, np.float32)
        arrays = {"w": value, "loss/mse_loss": np.float32(1)}
        record = make_record(self.num_steps, arrays, worker=self.worker, raw=raw)
        self._writer.write(record)
        self.num_steps += 1
        if flush:
            self._writer.flush()

    def end(self):
        self._writer.close(End("finished", 1, self.num_steps))


def copied(name, target, **options):
    """Return a store of a run, told to a copy of it, and the copy."""
    source = Noting(name)
    copy = RunCopy(source, target, is_new=True, **options)
    source.note = copy.note
    return source, copy


def contents(store):
    """Return all that means something elsewhere, by key."""
    left_out = ("reserve/", "claim.smd")
    return {key: store.get(key) for key in store.list() if not key.startswith(left_out)}
