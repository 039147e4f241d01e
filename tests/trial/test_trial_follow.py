"""Following a run while it is written."""

from __future__ import annotations

import os
from itertools import takewhile

from stepwatch import Trial
from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.manifest import End, Manifest
from stepwatch.runtime.process import identity
from stepwatch.store import open_store
from stepwatch.testing.made_runs import make_record


def test_who_asks_for_it_is_told_when_there_is_nothing_new(tmp_path):
    """An empty tuple while the run goes on; then what came since, and the end."""
    store = open_store(tmp_path)
    manifest = Manifest("r", 0, pid=os.getpid(), process=identity())
    writer = open_writer(RunTarget(store, "worker_0", manifest))
    writer.write(make_record(0, {"w": [1.0]}))
    writer.flush()
    stream = Trial(tmp_path).records(follow=True, waiting=True)

    assert [0] == [record.step for (record,) in takewhile(len, stream)]
    writer.write(make_record(1, {"w": [1.0]}))
    writer.close(End("finished", 0, 2))
    assert [1] == [record.step for records in stream for record in records]
