"""A run that is taken up again holds what was before, and then what is new."""

from __future__ import annotations

import itertools
import socket

import numpy as np
import pytest

from stepwatch.capture import Recorder
from stepwatch.capture.output import Output
from stepwatch.errors import ConfigError, RunExists, RunNotFound
from stepwatch.formats.manifest import Process, write_process
from stepwatch.formats.native.writer import truncate
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.store import open_store
from stepwatch.store.memory import MemoryStore
from stepwatch.testing import make_run
from stepwatch.trial import Trial

_numbers = itertools.count()
FORMATS = ("native", "smdebug")
INFO = TensorInfo("w", "weights", "float64", (3,))


@pytest.fixture
def url():
    return f"memory://resume-{next(_numbers)}"


def train(url, modes, value, *, end="finished", resume=None, format="native", rank=(0, 1)):
    """Train through some modes, a step each, with one value in all; ``end=None`` leaves it."""
    output = Output(format=format, resume=resume)
    recorder = Recorder(url, output=output, policy="weights:raw", rank=rank)
    for mode in modes:
        recorder.open_step(mode).add(INFO, np.full(3, float(value)))
        recorder.end_step(mode)
    if end is not None:
        recorder.close(end)
    return recorder


def values(url, mode=Mode.GLOBAL):
    """Return the value of each step, by the step as a mode counts it."""
    tensor = Trial(url).tensor("w")
    return {step: float(tensor.value(step, mode)[0]) for step in tensor.steps(mode)}


@pytest.mark.parametrize("format", FORMATS)
class TestOneWorker:
    @pytest.mark.parametrize("at", [0, 4, 10])
    def test_what_came_after_is_replaced(self, url, format, at):
        """As far as the new training came, and no old step follows it."""
        train(url, [Mode.TRAIN] * 10, 1, format=format, end="failed")
        train(url, [Mode.TRAIN] * 3, 2, resume=at, format=format)

        assert {step: 1.0 + (step >= at) for step in range(at + 3)} == values(url)
        assert ("finished", (at,)) == ((trial := Trial(url)).state, trial.reader.manifest.resumes)

    def test_modes_go_on_as_they_counted(self, url, format):
        """The TRAIN step says where; of the others as many count as came before it."""
        train(url, [Mode.TRAIN, Mode.EVAL] * 5, 1, format=format, end="failed")
        train(url, [Mode.TRAIN, Mode.EVAL], 2, resume=2, format=format)

        assert {0: 1.0, 1: 1.0, 2: 2.0} == values(url, Mode.TRAIN) == values(url, Mode.EVAL)
        assert list(range(6)) == Trial(url).steps()

    def test_a_step_that_was_never_stored_goes_on_after_the_last(self, url, format):
        """The training came further than what was stored of it."""
        train(url, [Mode.TRAIN] * 4, 1, format=format, end="failed")
        train(url, [Mode.TRAIN] * 2, 2, resume=6, format=format)

        assert [0, 1, 2, 3, 6, 7] == Trial(url).steps(Mode.TRAIN)

    def test_it_goes_on_in_its_own_format(self, url, format):
        """Whatever is asked for."""
        train(url, [Mode.TRAIN] * 4, 1, format=format)
        other = FORMATS[format == "native"]
        train(url, [Mode.TRAIN] * 2, 2, resume=4, format=other)

        assert list(range(6)) == Trial(url).steps()
        assert format == Trial(url).reader.manifest.run_format

    def test_a_reader_that_was_there_before_sees_the_new_values(self, url, format):
        """It need not be opened anew; who follows is shown again what was replaced."""
        first = train(url, [Mode.TRAIN] * 6, 1, format=format, end=None)
        first.flush()
        for writer in first._writers:
            writer.flush()
        trial = Trial(url)
        stream = trial.records(follow=True, waiting=True)
        seen = list(itertools.takewhile(len, stream))
        trial.tensor("w").value(5)
        first.close("failed")
        train(url, [Mode.TRAIN] * 6, 2, resume=3, format=format)
        again = [(records[0].step, float(records[0].raw["w"][0])) for records in stream if records]

        assert [0, 1, 2, 3, 4, 5] == [records[0].step for records in seen]
        assert [(step, 2.0) for step in range(3, 9)] == again
        assert 2.0 == trial.tensor("w").value(5)[0]

    def test_a_run_that_goes_on_is_left_alone(self, url, format):
        """Its process still lives and left no note."""
        running = train(url, [Mode.TRAIN] * 2, 1, format=format, end=None)
        with pytest.raises(RunExists, match="still being written"):
            train(url, [], 2, resume=1, format=format)
        running.close()

        assert {0: 1.0, 1: 1.0} == values(url)


class TestParts:
    @pytest.mark.slow
    @pytest.mark.parametrize("at", [1, 15, 39, 40])
    @pytest.mark.parametrize("each", [1, 4], ids=["merged", "as they came"])
    def test_a_part_is_cut_where_the_run_goes_on(self, url, at, each):
        """Merged ones too; the steps before are all there, and what follows is one chain."""
        store = MemoryStore(url)
        recorder = train(url, [], 0, end=None)
        for number in range(40):
            recorder.open_step(Mode.TRAIN).add(INFO, np.full(3, float(number)))
            recorder.end_step(Mode.TRAIN)
            if number % each == 0:
                recorder.flush()
                recorder._writers[0].flush()
        recorder.close()
        follows = truncate(store, "worker_0", at)

        assert (at - 1, 1) == (follows.last, follows.again)
        assert {step: float(step) for step in range(at)} == values(url)
        train(url, [Mode.TRAIN] * 2, -1, resume=at)
        assert at + 2 == len(values(url))


class TestWorkers:
    @pytest.mark.parametrize("format", FORMATS)
    def test_nobody_sees_new_steps_of_one_with_old_ones_of_another(self, url, format):
        """The first removes what the others left, and they are waited for."""
        both = [
            train(url, [Mode.TRAIN] * 6, 1, format=format, rank=(rank, 2), end=None)
            for rank in (0, 1)
        ]
        for recorder in both:
            recorder.close("failed")
        gone = Process(socket.gethostname(), 1 << 30, "")
        write_process(open_store(url), "worker_1", gone)
        train(url, [Mode.TRAIN] * 3, 2, resume=4, format=format, rank=(0, 2), end=None).flush()
        early = Trial(url).steps()
        train(url, [Mode.TRAIN] * 3, 2, resume=4, format=format, rank=(1, 2))

        assert [0, 1, 2, 3] == early
        rows = [
            (records[0].step, [record.statistics[0][5] for record in records])
            for records in Trial(url).records()
        ]
        assert [(step, [1.0, 1.0]) for step in range(4)] == rows[:4]

    def test_they_must_be_as_many(self, url):
        """Else steps would wait for workers that never come."""
        train(url, [Mode.TRAIN], 1)
        with pytest.raises(ConfigError, match="has 1 workers, and 2 are to go on"):
            train(url, [], 2, resume=1, rank=(0, 2))


class TestPlace:
    def test_the_first_step_of_no_run_is_a_new_run(self, url):
        """So a script may always say where it goes on."""
        train(url, [Mode.TRAIN] * 2, 1, resume=0)

        assert {0: 1.0, 1: 1.0} == values(url)

    def test_a_later_step_of_no_run_is_a_mistake(self, url):
        """Nothing is written."""
        with pytest.raises(RunNotFound, match="no run to resume"):
            train(url, [], 1, resume=5)

        assert [] == MemoryStore(url).list()

    def test_findings_of_the_steps_that_stay_are_kept(self, url):
        """Though the rules begin anew."""
        make_run(url, steps=6)
        store = MemoryStore(url)
        store.put("findings/worker_0.jsonl", b'{"step": 2}\n{"step": 5}\n')
        train(url, [Mode.TRAIN], 1, resume=4)

        assert b'{"step": 2}\n' == store.get("findings/worker_0-before-1.jsonl")
        assert "findings/worker_0.jsonl" not in store.list()
