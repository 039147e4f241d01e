"""What a profile tells of a real training: phases, modules, loaders, pauses, windows."""

from __future__ import annotations

import gc
import gzip
import io
import json
import pstats
import time

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

from stepwatch import Profiler, ProfilerConfig, Range
from stepwatch.errors import ConfigError
from stepwatch.model.finding import Finding
from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd

QUIET = ProfilerConfig(interval_ms=0)


class SlowToMake(torch.utils.data.Dataset):
    """Samples that take their time."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        time.sleep(0.01)
        return X[index], Y[index]


def profiled(watched, config=QUIET, **options):
    profiler = Profiler(config)
    return watched(listeners=[profiler], **options), profiler


class TestPhases:
    def test_they_sum_to_each_step(self, watched):
        """Of every step, first and last, each nanosecond is in one phase."""
        watch, _ = profiled(watched)
        with watch as seen:
            fit(mlp(), steps=5)
        steps = seen.trial.profile.steps().to_pylist()

        assert [0, 1, 2, 3, 4] == [one["step"] for one in steps]
        for one in steps:
            parts = [one[f"{name}_ns"] for name in ("data", "forward", "backward", "optimizer")]
            assert one["duration_ns"] == sum(parts) + one["other_ns"]
            assert all(part > 0 for part in parts[1:])

    def test_times_are_those_of_the_tensors(self, watched):
        """A step has ended when its tensors were handed on, by the same clock."""
        watch, _ = profiled(watched)
        before = time.time_ns()
        with watch as seen:
            fit(mlp(), steps=3)
        steps = seen.trial.profile.steps().to_pylist()

        assert before <= steps[0]["start_ns"]
        for (record,), step in zip(seen.trial.records(), steps, strict=True):
            assert 0 <= record.time_ns - step["start_ns"] - step["duration_ns"] < 5e9

    def test_a_wait_for_data_is_the_loader_s(self, watched):
        """A slow data set is data, and nothing else."""
        watch, _ = profiled(watched)
        model = mlp()
        optimizer = sgd(model)
        with watch as seen:
            for x, y in DataLoader(SlowToMake(), batch_size=4):
                optimizer.zero_grad()
                F.mse_loss(model(x), y).backward()
                optimizer.step()
        steps = seen.trial.profile.steps().to_pylist()

        assert all(one["data_ns"] >= 40_000_000 for one in steps)

    def test_evaluations_are_steps_of_their_own(self, watched):
        """A validation between two steps is in neither."""
        watch, _ = profiled(watched)
        model = mlp()

        def evaluate(step):
            model.eval()
            with torch.no_grad():
                model(X)
            model.train()

        with watch as seen:
            fit(model, steps=2, each=evaluate)

        steps = seen.trial.profile.steps().to_pylist()
        assert ["TRAIN", "EVAL", "TRAIN", "EVAL"] == [one["mode"] for one in steps]
        ends = [one["start_ns"] + one["duration_ns"] for one in steps]
        assert all(end <= one["start_ns"] for end, one in zip(ends, steps[1:], strict=False))

    def test_a_training_by_hand_has_steps(self, watched):
        """Where no optimizer tells when a step is over, the next one does."""
        watch, _ = profiled(watched)
        model = mlp()
        with watch as seen:
            for _ in range(3):
                model.zero_grad()
                F.mse_loss(model(X), Y).backward()
                with torch.no_grad():
                    for parameter in model.parameters():
                        parameter -= 0.1 * parameter.grad
        steps = seen.trial.profile.steps()

        assert 3 == len(steps)

    def test_without_a_profiler_nothing_is_stored(self, watched):
        """A run has a profile only if somebody asked for it."""
        with watched() as seen:
            fit(mlp())

        assert [] == seen.trial.store.list("profile/")


class TestLayers:
    def test_modules_of_a_sampled_step(self, watched):
        """Each has a forward, and those that hold no other a backward."""
        watch, _ = profiled(watched)
        with watch as seen:
            fit(mlp(), steps=12)
        rows = seen.trial.profile.spans(kind="layer").to_pylist()

        assert {10} == {one["step"] for one in rows}
        names = sorted(one["name"] for one in rows)
        leaves = [f"{layer}:{way}" for layer in "012" for way in ("backward", "forward")]
        assert [*leaves, "Sequential:forward"] == names

    def test_backward_spans_do_not_overlap(self, watched):
        """They lie one behind the other within the backward of their step."""
        watch, _ = profiled(watched)
        with watch as seen:
            fit(mlp(), steps=12)
        spans = seen.trial.profile.spans(kind="layer").to_pylist()
        back = [one for one in spans if one["thread"] == "backward"]
        phase = next(
            one
            for one in seen.trial.profile.spans(kind="phase").to_pylist()
            if one["step"] == 10 and one["name"] == "backward"
        )

        ends = [one["start_ns"] + one["duration_ns"] for one in back]
        assert ["2:backward", "1:backward", "0:backward"] == [one["name"] for one in back]
        assert all(end <= one["start_ns"] for end, one in zip(ends, back[1:], strict=False))
        assert phase["start_ns"] <= back[0]["start_ns"]

    def test_training_is_what_it_was(self, watched):
        """Weights after sampled steps are those of a training that nobody watched."""
        plain, seen_model = mlp(), mlp()
        fit(plain, steps=13)
        watch, _ = profiled(watched)
        with watch:
            fit(seen_model, steps=13)

        for one, other in zip(plain.parameters(), seen_model.parameters(), strict=True):
            assert torch.equal(one, other)


class TestPauses:
    def test_checkpoints_and_garbage(self, watched):
        """What a training stands still for is told, by what it was."""
        watch, _ = profiled(watched)
        model = mlp()

        def pause(step):
            torch.save(model.state_dict(), io.BytesIO())
            gc.collect()

        with watch as seen:
            fit(model, steps=2, each=pause)
        names = seen.trial.profile.spans(kind="pause").column("name").to_pylist()

        assert 2 == names.count("checkpoint")
        assert names.count("gc2") >= 1

    def test_nothing_of_ours_stays(self, watched):
        """After the hook, torch and Python are as they were."""
        before = torch.save, torch.distributed.all_reduce, gc.collect, list(gc.callbacks)
        watch, _ = profiled(watched)
        with watch:
            fit(mlp())

        after = torch.save, torch.distributed.all_reduce, gc.collect, list(gc.callbacks)
        assert before == after


class TestCollectives:
    @pytest.fixture
    def alone_in_a_group(self):
        store = torch.distributed.HashStore()
        torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
        yield
        torch.distributed.destroy_process_group()

    def test_waits_for_other_workers(self, watched, alone_in_a_group):
        """What a rank waits for others is told by the function, and with its step."""
        watch, _ = profiled(watched)
        value = torch.ones(3)

        def wait(_):
            torch.distributed.all_reduce(value)
            torch.distributed.broadcast(value, 0, async_op=True).wait()

        with watch as seen:
            fit(mlp(), steps=2, each=wait)
        rows = seen.trial.profile.spans(kind="collective").to_pylist()

        assert 2 * ["all_reduce", "broadcast", "wait"] == [one["name"] for one in rows]
        assert {"TRAIN"} == {one["mode"] for one in rows}

    def test_a_range_says_when(self, watched, alone_in_a_group):
        """With a range only its steps are told of."""
        watch, _ = profiled(watched, ProfilerConfig(interval_ms=0, collectives=Range(1, 1)))
        with watch as seen:
            fit(mlp(), steps=4, each=lambda _: torch.distributed.barrier())

        assert 1 == len(seen.trial.profile.spans(kind="collective"))


@pytest.mark.slow
class TestLoaderWorkers:
    def test_each_batch_that_a_worker_made(self, watched):
        """Workers of stock torch tell what they do, each on a line of its own."""
        watch, _ = profiled(watched)
        model = mlp()
        optimizer = sgd(model)
        with watch as seen:
            for x, y in DataLoader(SlowToMake(), batch_size=2, num_workers=2):
                optimizer.zero_grad()
                F.mse_loss(model(x), y).backward()
                optimizer.step()
        rows = seen.trial.profile.spans(kind="loader").to_pylist()

        assert 4 == len(rows)
        assert {"loader/0", "loader/1"} == {one["thread"] for one in rows}
        assert all(one["duration_ns"] >= 20_000_000 for one in rows)

    def test_what_is_not_asked_for_is_not_told(self, watched):
        """A range and a regular expression say what is wanted of loaders."""
        config = ProfilerConfig(interval_ms=0, loader_names="something else")
        watch, _ = profiled(watched, config)
        model = mlp()
        with watch as seen:
            for x, _ in DataLoader(TensorDataset(X, Y), batch_size=8, num_workers=1):
                model(x)

        assert 0 == len(seen.trial.profile.spans(kind="loader"))


class TestWindows:
    def test_operations_of_some_steps(self, watched):
        """The trace is what Perfetto opens, and holds those steps by their numbers."""
        watch, _ = profiled(watched, ProfilerConfig(interval_ms=0, detailed=Range(2, 2)))
        with watch as seen:
            fit(mlp(), steps=6)
        (key,) = seen.trial.profile.traces
        trace = json.loads(gzip.decompress(seen.trial.store.get(key)))

        assert "profile/traces/steps_000000000002-000000000003/rank0.json.gz" == key
        names = {event.get("name") for event in trace["traceEvents"]}
        assert {"ProfilerStep#2", "ProfilerStep#3", "aten::addmm"} <= names
        assert "ProfilerStep#4" not in names
        assert {"rank": 0, "world_size": 1}.items() <= trace["distributedInfo"].items()
        window = seen.trial.profile.spans(kind="window").to_pylist()
        assert ["torch.profiler"] == [one["name"] for one in window]

    @pytest.mark.parametrize("timer", ["total_time", "cpu_time", "off_cpu_time", "default"])
    def test_functions_of_python(self, watched, timer, tmp_path):
        """Files are such as pstats reads; the default timer is another one in each step."""
        config = ProfilerConfig(interval_ms=0, python=Range(1, 3), timer=timer)
        watch, _ = profiled(watched, config)
        with watch as seen:
            fit(mlp(), steps=6)
        keys = seen.trial.profile.traces

        assert (3 if timer == "default" else 1) == len(keys)
        for number, key in enumerate(keys):
            file = tmp_path / f"{number}.pstats"
            file.write_bytes(seen.trial.store.get(key))
            functions = {function for _, _, function in pstats.Stats(str(file)).stats}
            assert "backward" in functions

    def test_stacks_of_python(self, watched):
        """pyinstrument leaves a page, and what speedscope opens."""
        pytest.importorskip("pyinstrument")
        config = ProfilerConfig(interval_ms=0, python=Range(1, 4), python_profiler="pyinstrument")
        watch, _ = profiled(watched, config)
        with watch as seen:
            fit(mlp(), steps=8, each=lambda _: time.sleep(0.005))
        page, scope = sorted(seen.trial.profile.traces)

        assert b"<html" in seen.trial.store.get(page)[:500].lower()
        assert "profiles" in json.loads(seen.trial.store.get(scope))

    def test_a_window_that_is_open_at_the_end_is_stored(self, watched):
        """A training that ends within a window leaves what there was of it."""
        watch, _ = profiled(watched, ProfilerConfig(interval_ms=0, detailed=Range(4, 5)))
        with watch as seen:
            fit(mlp(), steps=6)

        assert ["profile/traces/steps_000000000004-000000000005/rank0.json.gz"] == (
            seen.trial.profile.traces
        )

    def test_a_window_is_never_long(self, watched, caplog):
        """What records every operation is closed after ten steps, and that is said."""
        watch, _ = profiled(watched, ProfilerConfig(interval_ms=0, detailed=Range(0, 1000)))
        with watch as seen:
            fit(mlp(), steps=13)

        assert ["profile/traces/steps_000000000000-000000000009/rank0.json.gz"] == (
            seen.trial.profile.traces
        )
        assert "closed after 10" in caplog.text

    def test_a_script_that_profiles_itself_is_left_alone(self, watched, caplog):
        """Two of torch's profilers cannot be at work; the script's own goes on."""
        watch, _ = profiled(watched, ProfilerConfig(interval_ms=0, detailed=Range(1, 1)))
        kinds = [torch.profiler.ProfilerActivity.CPU]
        with watch as seen, torch.profiler.profile(activities=kinds) as own:
            fit(mlp(), steps=3)

        assert [] == seen.trial.profile.traces
        assert "being profiled" in caplog.text
        assert any("addmm" in event.key for event in own.key_averages())
        assert 3 == len(seen.trial.steps())

    def test_more_may_be_asked_for_meanwhile(self, watched):
        """Whoever puts a configuration into the run is heard while it trains."""
        watch, profiler = profiled(watched)
        asked = {"ProfilingParameters": {"DetailedProfilingConfig": '{"NumSteps": 1, }'}}

        def ask(step):
            if step == 2:
                seen.trial.store.put("profile/profilerconfig.json", json.dumps(asked).encode())
                profiler._reload()

        with watch as seen:
            fit(mlp(), steps=6, each=ask)

        assert ["profile/traces/steps_000000000003-000000000003/rank0.json.gz"] == (
            seen.trial.profile.traces
        )

    def test_what_is_asked_for_again_is_done_again(self, watched):
        """A window that is over is opened anew; one that is given by its steps is over for good."""
        watch, profiler = profiled(watched)

        def ask(step):
            if step in (1, 4):
                profiler.configure(
                    ProfilerConfig(interval_ms=0, detailed=Range(steps=1), python=Range(2, 1))
                )

        with watch as seen:
            fit(mlp(), steps=8, each=ask)

        assert [
            "profile/traces/steps_000000000002-000000000002/rank0.json.gz",
            "profile/traces/steps_000000000005-000000000005/rank0.json.gz",
            "profile/python/steps_000000000002-000000000002/rank0.total_time.pstats",
        ] == seen.trial.profile.traces

    def test_half_a_configuration_changes_nothing(self, watched, caplog, tmp_path):
        """A file that is just being written is not meant yet, and the next one counts."""
        file = tmp_path / "profilerconfig.json"
        profiler = Profiler(QUIET, str(file))
        with watched(listeners=[profiler]) as seen:
            fit(mlp())
            file.write_text('{"DisableProf')
            profiler._reload()
            half = profiler.config
            file.write_text('{"DisableProfiler": true}')
            profiler._reload()
            fit(mlp())

        assert QUIET == half
        assert "still is" in caplog.text
        assert profiler.config is None
        assert 3 == len(seen.trial.profile.steps())


class TestControl:
    def test_a_finding_may_open_a_window(self, watched):
        """The action asks, and the steps after the next are recorded."""
        from stepwatch.actions.training import Profile

        watch, _ = profiled(watched)
        told = []
        finding = Finding("loss_spike", 1, "loss", "it rose")

        def ask(step):
            if step == 1:
                seen.hook.control.request(
                    lambda control: Profile(2).change(finding, control), told.append
                )

        with watch as seen:
            fit(mlp(), steps=6, each=ask)

        assert 1 == len(seen.trial.profile.traces)
        assert "recording every operation of steps" in told[0]

    def test_without_a_profiler_it_says_so(self, watched):
        """There is no place for a trace where nothing is profiled."""
        with watched() as seen:
            fit(mlp(), steps=2)
            with pytest.raises(ConfigError, match="give it a Profiler"):
                seen.hook.control.profile(1)
