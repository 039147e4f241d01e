"""``stepwatch profile``, and what ``stepwatch run`` tells of time by itself."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import time

import pytest

from stepwatch import Profiler, Trial
from stepwatch.cli.run import make_profiler
from stepwatch.errors import ConfigError
from stepwatch.formats.profile.parts import CONFIG_KEY, PartsWriter
from stepwatch.formats.profile.reader import Machine, write_machine
from stepwatch.formats.profile.tables import SPANS, SYSTEM, Sample, Span, spans_table, system_table
from stepwatch.store import open_store
from stepwatch.testing import make_run
from tests.support import fork_server
from tests.support.cli.commands import STEPWATCH, call, environment

MS = 1_000_000


@pytest.fixture
def run(tmp_path):
    """A run with a profile that is easy to sum up."""
    store = open_store(make_run(tmp_path / "run", steps=4))
    spans = []
    for step in range(4):
        start = (1_000 + 100 * step) * MS
        spans.append(Span(start, 100 * MS, "step", "TRAIN", "TRAIN", step))
        spans.append(Span(start, 60 * MS, "phase", "data", "TRAIN", step))
        spans.append(Span(start + 60 * MS, 40 * MS, "phase", "forward", "TRAIN", step))
    spans.append(Span(1_010 * MS, 5 * MS, "pause", "checkpoint"))
    PartsWriter(store, SPANS, "worker_0").write(spans_table("worker_0", spans))
    samples = [Sample(i * MS, "cpu", "busy_percent", float(i)) for i in range(101)]
    PartsWriter(store, SYSTEM, "here").write(system_table("here", samples))
    write_machine(store, Machine("here", cores=2, notes=("no accelerator",), ended_ns=1))
    return tmp_path / "run"


class TestSummary:
    def test_json_for_machines(self, verb, run):
        """Means, medians, shares of phases, devices, and what there is to be said."""
        code, out, _ = verb("profile", run, "--json")
        found = json.loads(out)

        assert 0 == code
        (steps,) = found["steps"]
        assert (4, 100.0, 100.0, 100.0) == tuple(
            steps[name] for name in ("count", "mean_ms", "p50_ms", "max_ms")
        )
        assert {"data": 0.6, "forward": 0.4, "backward": 0.0, "optimizer": 0.0, "other": 0.0} == (
            steps["shares"]
        )
        (device,) = found["devices"]
        assert (50.0, 95.0, 0.0, 100.0) == tuple(
            device[name] for name in ("mean", "p95", "min", "max")
        )
        assert ("checkpoint", 5.0) == (found["spent"][0]["name"], found["spent"][0]["total_ms"])
        assert ["here: no accelerator"] == found["notes"]

    def test_tables_for_people(self, verb, run):
        """The same, to be read."""
        code, out, _ = verb("profile", run)

        assert 0 == code
        assert re.search(r"worker_0\s+TRAIN\s+4\s+100\s+100\s+100\s+100\s+60.0%\s+40.0%", out)
        assert "checkpoint" in out
        assert "50 %" in out

    def test_a_run_without_one(self, verb, tmp_path):
        """Nothing was profiled, and the status says so."""
        make_run(tmp_path / "bare", steps=2)

        code, out, _ = verb("profile", tmp_path / "bare")

        assert (1, "nothing was profiled\n") == (code, out)

    def test_a_run_that_has_ended_cannot_be_traced(self, verb, run):
        """Nobody would listen; one line says so."""
        code, _, err = verb("profile", run, "--trace", "2")

        assert 2 == code
        assert "only a run that trains can be traced" in err


class TestOptions:
    def nothing(self, **options):
        base = {"profile": None, "interval_ms": None, "trace": "", "profiler_file": None}
        return make_profiler(by_default=False, **{**base, **options})

    def test_what_is_not_asked_for_is_not_made(self):
        """In smdebug's format nobody profiles by default; a word is enough."""
        assert self.nothing() is None
        assert isinstance(self.nothing(profile=True), Profiler)
        assert 100 == self.nothing(interval_ms=100).config.interval_ms
        assert self.nothing(profile=False, trace="3") is None

    def test_who_did_not_ask_pays_less(self):
        options = {"profile": None, "interval_ms": None, "trace": "", "profiler_file": None}

        assert 1000 == make_profiler(by_default=True, **options).config.interval_ms
        assert 500 == self.nothing(profile=True).config.interval_ms

    def test_steps_to_trace(self):
        """One step, or the first and the last."""
        assert (5, 1) == steps_of(self.nothing(trace="5"))
        assert (5, 3) == steps_of(self.nothing(trace="5-7"))
        for wrong in ("7-5", "x", "5-", "-1"):
            with pytest.raises(ConfigError, match="such as 100-102"):
                self.nothing(trace=wrong)

    def test_a_file_says_what_is_profiled(self, tmp_path):
        """The configuration of SageMaker is one of ours; it may switch all of it off."""
        file = tmp_path / "profilerconfig.json"
        file.write_text('{"ProfilingIntervalInMilliseconds": 1000}')
        assert 1000 == self.nothing(profiler_file=str(file)).config.interval_ms
        file.write_text('{"DisableProfiler": true}')
        assert self.nothing(profiler_file=str(file)).config is None


def steps_of(profiler):
    return profiler.config.detailed.first, profiler.config.detailed.steps


SLOWLY = "import time\nfrom itertools import count\n"
LOOP = """
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(16, 4), torch.randn(16, 1)
end = time.time() + float(sys.argv[1])
for step in count():
    optimizer.zero_grad()
    mse_loss(model(x), y).backward()
    optimizer.step()
    time.sleep(0.02)
    if time.time() > end:
        break
"""


@pytest.mark.slow
class TestRun:
    def test_steps_and_machine_are_told_by_default(self, write, tmp_path):
        """A script that knows nothing of us has a profile, on one clock with its tensors."""
        script = write(SLOWLY + LOOP)
        options = ("--run", "run", "--budget", "none", "--trace", "3-4")  # phases of each step
        done = call(STEPWATCH, "run", *options, script, "8", cwd=tmp_path)
        trial = Trial(tmp_path / "run")

        assert 0 == done.returncode, done.stderr
        steps = trial.profile.steps()
        assert trial.steps() == steps.column("step").to_pylist()
        devices = trial.profile.system().column("device").to_pylist()
        assert {"cpu", "memory", "process"} <= set(devices)
        (machine,) = trial.profile.machines.values()
        assert machine.ended_ns is not None
        (trace,) = trial.profile.traces
        assert b"ProfilerStep#3" in gzip.decompress(trial.store.get(trace))

    def test_no_process_is_started_for_a_short_training_that_nobody_asked_to_profile(
        self, write, tmp_path
    ):
        """Its steps are told."""
        done = call(STEPWATCH, "run", "--run", "run", write(SLOWLY + LOOP), "3", cwd=tmp_path)
        profile = Trial(tmp_path / "run").profile

        assert 0 == done.returncode, done.stderr
        assert profile.steps().num_rows
        assert ({}, 0) == (profile.machines, profile.system().num_rows)

    def test_it_can_be_left_out(self, write, tmp_path):
        """Then nothing of a profile is in the run."""
        done = call(
            STEPWATCH, "run", "--run", "run", "--no-profile", write("train(5)\n"), cwd=tmp_path
        )

        assert 0 == done.returncode, done.stderr
        assert not (tmp_path / "run" / "profile").exists()

    @pytest.mark.timeout(300)
    def test_a_window_is_asked_for_from_outside(self, write, verb, tmp_path):
        """Another process asks a training that runs, and later finds the trace in its run."""
        script = write(SLOWLY + LOOP)
        training = fork_server.Popen(
            [str(STEPWATCH), "run", "--run", "run", str(script), "280"],
            cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            run = tmp_path / "run"
            asked = until(lambda: verb("profile", run, "--trace", 1, "--python", 1)[0] == 0)
            trial = Trial(run)
            found = until(lambda: len(trial.profile.traces) == 2)
        finally:
            training.terminate()
            training.wait()

        assert asked
        assert found
        assert json.loads(trial.store.get(CONFIG_KEY))["ProfilingParameters"]

    def test_a_mirror_has_what_the_sampler_wrote(self, write, tmp_path):
        """Another process writes it, and it is copied all the same."""
        script = write(SLOWLY + LOOP)
        options = ("--run", "run", "--mirror", "copy", "--profile")
        done = call(STEPWATCH, "run", *options, script, "6", cwd=tmp_path)
        ours, theirs = Trial(tmp_path / "run").profile, Trial(tmp_path / "copy").profile

        assert 0 == done.returncode, done.stderr
        assert len(ours.system()) > 0
        assert ours.system().equals(theirs.system())
        assert ours.steps().equals(theirs.steps())
        assert ours.machines == theirs.machines


def until(what, seconds=130.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if what():
            return True
        time.sleep(0.5)
    return False
