"""Trainings in several processes: who writes what, and what of it is the whole."""

from __future__ import annotations

import os
import socket
import sys

import numpy as np
import pytest
import torch

from stepwatch import Trial, watch
from stepwatch.formats.manifest import read_ends
from stepwatch.numerics.statistics import COUNT, NAN, SUM, SUM_ABS, SUM_SQ, summarize
from tests.support import ROOT, fork_server
from tests.support.hooks.torch.rank_trainings import MAX_NORM, STEPS, batch, loss_of, net
from tests.support.hooks.torch.ranks_fixture import HERE, TIMEOUT_S, finish, start, train

pytestmark = pytest.mark.slow

SHARDED = ("fsdp", "fsdp_mixed", "fsdp_accumulated", "hsdp", "tensor_parallel")
TRAININGS = ("ddp", "ddp_spare", "ddp_accumulated", *SHARDED, "fsdp_stale", "partial")
PARAMETERS = [f"{layer}.{kind}" for layer in (0, 2, 4) for kind in ("bias", "weight")]
_SUMS = [SUM, SUM_ABS, SUM_SQ]


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.slow)])
def ranks(request, tmp_path_factory):
    """Every training, in so many processes."""
    return train(tmp_path_factory.mktemp("ranks"), request.param, *TRAININGS)


def mean_gradients(trial, step, batches):
    """Return, by hand, the mean of what each process computes by itself, from stored weights."""
    model = net()
    weights = {
        name: torch.tensor(trial.tensor(name).value(step, "TRAIN", "worker_0"))
        for name in PARAMETERS
    }
    model.load_state_dict(weights)
    sum(loss_of(model, x) for x in batches).backward()
    return {name: one.grad.numpy() for name, one in model.named_parameters()}


def assert_same_statistics(expected, found):
    """Counts and extremes exactly, sums to the last digits."""
    rest = [field for field in range(len(expected)) if field not in _SUMS]
    assert expected[rest].tolist() == pytest.approx(found[rest].tolist(), rel=0, nan_ok=True)
    assert expected[_SUMS].tolist() == pytest.approx(found[_SUMS].tolist(), rel=1e-12, abs=1e-12)


class TestDataParallel:
    def test_each_process_is_a_worker(self, ranks):
        """Of one run."""
        trial = ranks.trial("ddp")

        assert (ranks.workers, "finished") == (list(trial.workers), trial.state)
        assert list(range(STEPS)) == trial.steps()

    def test_gradients_are_those_after_averaging(self, ranks):
        """As each optimizer uses them: alike everywhere."""
        trial = ranks.trial("ddp")
        for step in range(STEPS):
            of_each = [batch(step, rank) for rank in range(ranks.size)]
            for name, summed in mean_gradients(trial, step, of_each).items():
                tensor = trial.tensor(f"gradient/{name}")
                found = [tensor.value(step, worker=worker) for worker in ranks.workers]
                assert all(np.array_equal(found[0], other) for other in found)
                np.testing.assert_allclose(found[0], summed / ranks.size, rtol=2e-5, atol=1e-7)

    def test_names_know_nothing_of_the_wrapper(self, ranks):
        """They are those of the model."""
        names = ranks.trial("ddp").tensor_names()

        assert PARAMETERS == ranks.trial("ddp").tensor_names(collection="weights")
        assert "output/Sequential" in names
        assert [] == [name for name in names if "module" in name or "Distributed" in name]

    def test_accumulation_without_averaging_is_one_step(self, ranks):
        """Under ``no_sync`` the gradients of micro-batches add up."""
        trial = ranks.trial("ddp_accumulated")
        assert list(range(STEPS)) == trial.steps("TRAIN")
        of_each = [batch(which, rank) for which in (2, 3) for rank in range(ranks.size)]
        for name, summed in mean_gradients(trial, 1, of_each).items():
            found = trial.tensor(f"gradient/{name}").value(1)
            np.testing.assert_allclose(found, summed / ranks.size, rtol=2e-5, atol=1e-7)

    def test_a_layer_that_is_not_used_has_a_weight_and_no_gradient(self, ranks):
        """Nor do buffers that are broadcast disturb."""
        trial = ranks.trial("ddp_spare")

        assert "unused.weight" in trial.tensor_names(collection="weights")
        assert "gradient/unused.weight" not in trial.tensor_names()
        for name, by_step in ranks.wholes("ddp_spare").items():
            assert np.array_equal(by_step[2], trial.tensor(name).value(2))


class TestShards:
    @pytest.mark.parametrize("name", SHARDED)
    def test_merged_statistics_are_those_of_the_whole(self, ranks, name):
        """Every part counts once, replicas do not."""
        trial = ranks.trial(name)
        for tensor, by_step in ranks.wholes(name).items():
            merged = trial.tensor(tensor).merged("TRAIN")
            assert list(by_step) == merged.mode_steps.tolist()
            for step, row in zip(by_step, merged.rows, strict=True):
                assert_same_statistics(summarize(by_step[step]), row)

    @pytest.mark.parametrize("name", SHARDED)
    def test_the_value_is_put_together(self, ranks, name):
        """From the parts, bit for bit."""
        trial = ranks.trial(name)
        for tensor, by_step in ranks.wholes(name).items():
            for step, whole in by_step.items():
                assert np.array_equal(whole, trial.tensor(tensor).value(step, "TRAIN"))

    @pytest.mark.parametrize("name", SHARDED)
    def test_every_parameter_has_its_name_and_is_captured(self, ranks, name):
        """Whatever stands in its place while a module runs; nothing has a name of the wrapper's."""
        names = ranks.trial(name).tensor_names()

        expected = [name for name in ranks.wholes(name) if not name.startswith("gradient/")]
        assert sorted(expected) == ranks.trial(name).tensor_names(collection="weights")
        assert "output/0" in names
        assert [] == [name for name in names if "FSDP" in name or "optimizer/0/" in name]
        assert f"capturing {len(expected)} of {len(expected)} parameters" in coverage(ranks, name)

    def test_a_worker_shows_its_own_part(self, ranks):
        """Its statistics, and its value."""
        trial, whole = ranks.trial("fsdp"), ranks.wholes("fsdp")["gradient/2.weight"]
        tensor = trial.tensor("gradient/2.weight")
        parts = [tensor.value(1, worker=worker) for worker in ranks.workers]

        assert np.array_equal(whole[1], np.concatenate(parts))
        for worker, part in zip(ranks.workers, parts, strict=True):
            assert_same_statistics(summarize(part), tensor.statistics(worker=worker).rows[1])

    def test_a_worker_with_nothing_of_a_tensor_has_empty_statistics(self, ranks):
        """A bias of one element lies in one process."""
        series = ranks.trial("fsdp").tensor("4.bias").statistics(worker=ranks.workers[-1])

        assert [0.0] * STEPS == series.rows[:, COUNT].tolist() == series.rows[:, NAN].tolist()

    def test_it_is_the_training_that_one_process_would_do(self, ranks):
        """With all batches at once; the order of sums differs."""
        model = net()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        trial = ranks.trial("fsdp")
        for step in range(STEPS):
            optimizer.zero_grad()
            x = torch.cat([batch(step, rank) for rank in range(ranks.size)])
            loss_of(model, x).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
            for name, parameter in model.named_parameters():
                found = trial.tensor(f"gradient/{name}").value(step)
                np.testing.assert_allclose(found, parameter.grad.numpy(), rtol=1e-3, atol=1e-6)
            optimizer.step()

    def test_the_norm_of_all_gradients_is_known_to_each(self, ranks):
        """Clipping told it to all of them."""
        trial = ranks.trial("fsdp")
        squares = [
            series["sum_sq"]
            for name in PARAMETERS
            for series in [trial.tensor(f"gradient/{name}").merged()]
        ]
        clipped = trial.tensor("optimizer/gradient_norm_after_clipping").statistics()["mean"]

        assert (MAX_NORM * 0.999 < np.sqrt(np.sum(squares, axis=0))).all()
        np.testing.assert_allclose(clipped, MAX_NORM, rtol=1e-3)

    def test_the_state_of_the_optimizer_is_sharded_as_the_parameter(self, ranks):
        """Parts of it merge as well."""
        trial = ranks.trial("fsdp")
        merged = trial.tensor("optimizer_state/2.weight/exp_avg").merged()

        assert [35] == merged["count"].tolist()

    def test_gradients_that_nobody_zeroed_are_counted(self, ranks):
        """Also where a worker has a part of them."""
        stale = ranks.trial("fsdp_stale").tensor("optimizer/stale_gradients").statistics()
        zeroed = ranks.trial("fsdp").tensor("optimizer/stale_gradients").statistics()

        assert [0.0] + [6.0] * (STEPS - 1) == stale["mean"][:: ranks.size].tolist()
        assert [0.0] * (STEPS * ranks.size) == zeroed["mean"].tolist()

    def test_a_sum_that_nobody_knows_is_left_out(self, ranks):
        """To know it would take a collective, or waiting for one."""
        assert ["tensor/known"] == ranks.trial("partial").tensor_names()
        line = coverage(ranks, "tensor_parallel")
        assert "2 of 4 outputs" in line
        assert "a sum that is still spread over the workers: 2" in line
        assert "a collective that is under way: Sequential" in line


@pytest.mark.slow
def test_what_is_sharded_twice_is_put_together(tmp_path):
    """Along columns, and each of these parts again: a mesh of two dimensions."""
    ranks = train(tmp_path, 4, "sharded_columns")
    trial = ranks.trial("sharded_columns")
    for tensor, by_step in ranks.wholes("sharded_columns").items():
        for step, whole in by_step.items():
            assert np.array_equal(whole, trial.tensor(tensor).value(step))


class TestEnds:
    @pytest.mark.parametrize(
        ("how", "state"),
        [("exit", "died"), pytest.param("raise", "failed", marks=pytest.mark.slow)],
    )
    def test_one_process_that_ends_ends_nothing_for_the_others(self, tmp_path, how, state):
        """Their steps are seen while they still run; afterwards the run says what happened."""
        first, second = start(HERE / "rank_alone.py", 2, tmp_path / "run", how)
        try:
            assert "trained\n" == first.stdout.readline(), first.stderr.read()
            second.wait(TIMEOUT_S)
            trial = Trial(tmp_path / "run")
            trial.wait_for_steps(range(10), timeout=TIMEOUT_S)

            assert "running" == trial.state
            finish([first])  # closing its input lets it end
            trial.refresh()
            assert (state, list(range(10))) == (trial.state, trial.steps())
            assert 0 == first.returncode != second.returncode
        finally:
            first.kill(), second.kill()


class TestLaunchers:
    @pytest.mark.slow
    def test_spawned_processes_share_a_run(self, tmp_path):
        """Each makes a hook once it knows its rank; no launcher says it."""
        program = [sys.executable, str(HERE / "rank_spawned.py"), str(tmp_path), "2"]
        done = fork_server.run(
            program,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

        assert 0 == done.returncode, done.stderr
        trial = Trial(tmp_path / "run")
        assert (("worker_0", "worker_1"), "finished") == (trial.workers, trial.state)
        assert [0, 1, 2] == trial.steps()

    @pytest.mark.slow
    def test_a_script_may_join_the_others_after_the_hook_is_there(self, tmp_path):
        """``stepwatch run`` under a launcher: the environment says the rank before torch does."""
        command = ("-m", "stepwatch", "run", "--run", tmp_path / "run", HERE / "rank_script.py")
        processes = start("-X", 2, "utf8", *command, tmp_path)
        said = finish(processes)

        assert [0, 0] == [process.returncode for process in processes], said
        trial = Trial(tmp_path / "run")
        assert (("worker_0", "worker_1"), "finished") == (trial.workers, trial.state)
        assert ["bias", "weight"] == trial.tensor_names(collection="weights")

    @pytest.mark.slow
    @pytest.mark.timeout(1800)  # to start as many takes minutes on two processors
    def test_two_hundred_processes_of_one_machine_are_one_run(self, tmp_path):
        """Each is stored, and the one whose weights part from the others' is named."""
        size, wrong, run = 200, 137, tmp_path / "run"
        with socket.create_server(("localhost", 0)) as free:
            port = free.getsockname()[1]
        command = ("stepwatch", "run", "--run", run, HERE / "rank_many.py", port, wrong)
        processes = start("-m", size, *command)
        said = finish(processes, timeout_s=1200)
        trial = Trial(run)
        found = watch(trial, "replica_divergence")

        assert {0} == {process.returncode for process in processes}, said
        assert (size, "finished") == (len(trial.workers), trial.state)
        assert list(range(11)) == trial.steps("TRAIN")
        assert [("diverged", f"worker_{wrong}")] == [(one.condition, one.worker) for one in found]


def coverage(ranks, name):
    """Return the coverage line of the first worker."""
    return read_ends(ranks.trial(name).store)["worker_0"].coverage
