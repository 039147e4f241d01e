"""What the user asks to be saved beyond statistics."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from torch import nn

from stepwatch import SavePolicy, Schedule, Trial
from stepwatch.errors import ConfigError, RunExists, TensorUnavailable
from tests.support import ROOT, fork_server
from tests.support.hooks.torch.trainings import X, Y, as_array, fit, mlp, sgd


class TestPolicies:
    def test_raw_values_are_exact_at_the_steps_that_were_asked_for(self, watched):
        """A weight changes in place a moment later; what is saved is from before."""
        model = mlp()
        weights = [as_array(model[0].weight)]
        with watched(policy="weights:raw:every=2") as seen:
            fit(model, steps=5, each=lambda step: weights.append(as_array(model[0].weight)))

        values = seen.trial.tensor("0.weight").values()
        assert [0, 2, 4] == sorted(values)
        for step, value in values.items():
            np.testing.assert_array_equal(weights[step], value, strict=True)
        with pytest.raises(TensorUnavailable):
            seen.trial.tensor("gradient/0.weight").value(0)

    def test_a_pattern_adds_to_what_it_matches(self, watched):
        """``/regex/:raw`` finds itself anywhere in a name; others stay as they were."""
        with watched(policy=[r"/^gradient/2\./:raw:steps=1"]) as seen:
            fit(mlp())

        assert [1] == sorted(seen.trial.tensor("gradient/2.weight").values())
        assert {} == seen.trial.tensor("gradient/0.weight").values()
        assert 3 == len(seen.series("gradient/2.weight"))

    def test_none_saves_nothing_of_a_collection(self, watched):
        """All the others are still there."""
        with watched() as by_default:
            fit(mlp())
        with watched(policy=["outputs:none", "gradients:none"]) as seen:
            fit(mlp())

        expected = set(by_default.trial.collections) - {"outputs", "gradients"}
        assert expected == set(seen.trial.reader.tensors().values())
        assert [] == seen.trial.tensor_names("^(output|gradient)/")

    def test_one_policy_holds_for_everything(self, watched):
        """Statistics at every other step only."""
        with watched(policy=SavePolicy(statistics=Schedule(every=2))) as seen:
            fit(mlp(), steps=6)

        assert [0, 2, 4] == seen.trial.tensor("0.weight").steps("TRAIN")

    def test_raw_values_of_bfloat16_keep_their_dtype(self, watched):
        """They are not widened on their way to disk."""
        model = mlp().bfloat16()
        weight = model[0].weight.detach().clone()
        with watched(policy="weights:raw") as seen:
            optimizer = sgd(model)
            model(torch.ones(2, 4, dtype=torch.bfloat16)).sum().backward()
            optimizer.step()

        value = seen.trial.tensor("0.weight").value(0)
        assert "bfloat16" == value.dtype.name
        np.testing.assert_array_equal(weight.float().numpy(), value.astype(np.float32))

    def test_a_broken_policy_is_refused_before_anything_is_hooked(self, watched):
        """And torch is as it was."""
        backward = torch.autograd.backward
        with pytest.raises(ConfigError, match="gradient"):
            watched(policy="gradient:raw")

        assert backward is torch.autograd.backward


class TestTheUsersOwn:
    def test_scalars_are_saved_with_their_step(self, watched):
        """Floats, ints, numpy numbers and tensors of one element."""
        with watched() as seen:
            values = iter([1.5, 2, torch.tensor([3.5]), np.float32(4.5)])
            fit(mlp(), steps=4, loss=lambda out, y: self.save(seen, next(values), out, y))

        assert [1.5, 2.0, 3.5, 4.5] == seen.series("scalar/mine")
        assert "scalars" == seen.trial.tensor("scalar/mine").collection

    def test_what_is_saved_after_the_optimizer_belongs_to_its_step(self, watched):
        """There is where everybody logs; and the last one makes no step of its own."""
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with watched() as seen:
            for step in range(3):
                optimizer.zero_grad()
                nn.functional.mse_loss(model(X), Y).backward()
                optimizer.step()
                seen.hook.save_scalar("mine", 10 + step)

        assert {"TRAIN": 3} == seen.counts
        assert [10, 11, 12] == seen.series("scalar/mine")
        assert [0, 1, 2] == seen.trial.tensor("scalar/mine").steps("TRAIN")

    def test_a_step_that_is_held_keeps_the_gradients_nobody_steps(self, watched):
        """They are observed when the step is over, before the next begins by zeroing them."""
        model = mlp()
        optimizer = torch.optim.SGD(model[0].parameters(), lr=0.1)
        with watched() as seen:
            for _ in range(3):
                model.zero_grad()
                nn.functional.mse_loss(model(X), Y).backward()
                optimizer.step()

        assert 3 == len(seen.series("gradient/2.weight"))

    @staticmethod
    def save(seen, value, out, y):
        seen.hook.save_scalar("mine", value)
        return nn.functional.mse_loss(out, y)

    def test_tensors_are_saved_as_the_policy_says(self, watched):
        """Statistics always, values where ``tensors`` are asked for raw; arrays count as well."""
        with watched(policy="tensors:raw") as seen:
            seen.hook.save_tensor("mine", torch.arange(6.0).reshape(2, 3))
            seen.hook.save_tensor("array", np.arange(3))
            fit(mlp(), steps=1)

        np.testing.assert_array_equal(
            np.arange(6.0).reshape(2, 3), seen.trial.tensor("tensor/mine").value(0)
        )
        assert [0, 1, 2] == seen.trial.tensor("tensor/array").value(0).tolist()


class TestTheHook:
    def test_it_can_let_go_and_take_hold_again(self, watched):
        """What happens in between is not seen, and torch is as it was."""
        backward, model = torch.autograd.backward, mlp()
        optimizer = sgd(model)
        with watched() as seen:
            fit(model, optimizer)
            seen.hook.detach()
            assert backward is torch.autograd.backward
            fit(model, optimizer)
            seen.hook.attach()
            seen.hook.attach()
            fit(model, optimizer)

        assert {"TRAIN": 6} == seen.counts
        assert backward is torch.autograd.backward
        assert not torch.nn.modules.module._global_forward_hooks

    @pytest.mark.parametrize(
        ("error", "state"),
        [pytest.param("", "finished", marks=pytest.mark.slow), ("1 / 0", "failed")],
    )
    def test_what_is_never_closed_is_so_when_python_ends(self, watched, tmp_path, error, state):
        """Not a step is lost, and an exception that ended the script is noted."""
        text = f"""
import sys; sys.path.insert(0, {str(ROOT)!r})
from tests.support.hooks.torch.trainings import *
TorchHook(run="run")
fit(mlp())
{error}
"""
        fork_server.run(
            [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, timeout=100
        )

        trial = Trial(tmp_path / "run")
        assert (state, 3) == (trial.state, len(trial.steps()))

    def test_closing_again_changes_nothing(self, watched):
        """The first note is the one that counts."""
        with watched() as seen:
            fit(mlp())

        assert seen.end == seen.hook.close("failed", "too late")
        assert "finished" == seen.trial.state

    def test_a_run_that_is_there_is_refused_and_left_alone(self, watched, tmp_path):
        """Before training, with nothing hooked and not a byte changed."""
        with watched() as seen:
            fit(mlp())
        before = {path: path.read_bytes() for path in seen.run.rglob("*") if path.is_file()}
        backward = torch.autograd.backward

        with pytest.raises(RunExists, match="already holds a run"):
            type(seen)(seen.run)

        assert backward is torch.autograd.backward
        assert before == {path: path.read_bytes() for path in seen.run.rglob("*") if path.is_file()}

    @pytest.mark.parametrize(
        ("error", "state", "text"),
        [
            (KeyboardInterrupt, "interrupted", "KeyboardInterrupt: enough"),
            (RuntimeError, "failed", "RuntimeError: enough"),
            (SystemExit, "failed", "exit status enough"),
        ],
    )
    def test_how_training_ended_is_noted(self, watched, error, state, text):
        """The exception passes on, with what it said."""

        def fail(step):
            if step == 1:
                raise error("enough")

        seen = watched()
        with pytest.raises(error), seen:
            fit(mlp(), each=fail)

        assert (state, text) == (seen.trial.state, seen.end.error)
        assert 2 == len(seen.series("loss/mse_loss"))

    def test_a_forward_that_was_interrupted_does_not_blind_it(self, watched):
        """Ctrl-C within a model, and the next cell trains again."""
        model = mlp()

        class Interrupt(nn.Module):
            def forward(self, x):
                raise KeyboardInterrupt

        with watched() as seen:
            fit(model)
            model.append(Interrupt())
            with pytest.raises(KeyboardInterrupt):
                model(torch.ones(1, 4))
            del model[3]
            fit(model)

        assert 6 == len(seen.series("gradient/0.weight"))
        assert 6 <= len(seen.series("output/0"))
