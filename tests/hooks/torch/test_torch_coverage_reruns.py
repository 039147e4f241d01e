"""Forwards that run more than once in a step: recomputed in the backward, or of micro-batches."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.support.hooks.torch.captured_rows import assert_same, rows_of
from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd


class Checkpointed(nn.Module):
    """Three blocks; ``reentrant`` says how each is checkpointed, ``None`` not at all."""

    def __init__(self, reentrant=None):
        super().__init__()
        torch.manual_seed(0)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3))
        self.head = nn.Linear(4, 1)
        self.reentrant = reentrant

    def forward(self, x):
        x = x.detach().requires_grad_()  # the reentrant way wants one that does
        for block in self.blocks:
            x = block(x) if self.reentrant is None else self.again(block, x)
        return self.head(x)

    def again(self, block, x):
        return checkpoint(block, x, use_reentrant=self.reentrant)


@pytest.fixture(scope="module")
def plainly(tmp_path_factory):
    """Return what is captured of the same model without checkpointing."""
    from tests.support.hooks.torch.trainings import Watched

    with Watched(tmp_path_factory.mktemp("plain") / "run") as seen:
        fit(Checkpointed())
    return rows_of(seen)


class TestActivationCheckpointing:
    @pytest.mark.parametrize("reentrant", [True, False])
    def test_it_changes_nothing_that_is_captured(self, watched, plainly, reentrant):
        """What is computed anew in the backward is not observed a second time."""
        with warnings.catch_warnings(), watched() as seen:
            warnings.simplefilter("error")
            fit(Checkpointed(reentrant))

        rows = rows_of(seen)
        assert [list(each) for each in plainly] == [list(each) for each in rows]
        for expected, found in zip(plainly, rows, strict=True):
            np.testing.assert_array_equal(np.stack([*expected.values()]), [*found.values()])

    @pytest.mark.parametrize("reentrant", [True, False])
    def test_all_of_it_is_covered(self, watched, reentrant):
        """The modules inside of a checkpoint have outputs as all others."""
        with watched() as seen:
            fit(Checkpointed(reentrant))

        assert ["capturing 8 of 8 parameters, 11 of 11 outputs"] == seen.said

    @pytest.mark.parametrize("reentrant", [True, False])
    def test_the_whole_model_may_be_in_one_checkpoint(self, watched, reentrant):
        """It then runs without gradients at first, and is trained all the same."""
        model = mlp()

        def run(x):
            return checkpoint(model, x.clone().requires_grad_(), use_reentrant=reentrant)

        with watched() as seen:
            fit(run, sgd(model))

        assert ["capturing 4 of 4 parameters, 4 of 4 outputs"] == seen.said
        assert {"TRAIN": 3} == seen.counts

    def test_gradients_that_are_asked_for_recompute_unseen(self, watched):
        """Also ``torch.autograd.grad`` runs the model again, and no backward is called."""
        model = Checkpointed(False)
        optimizer = sgd(model)
        with watched() as seen:
            loss = F.mse_loss(model(X), Y)
            gradients = torch.autograd.grad(loss, list(model.parameters()))
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter.grad = gradient
            optimizer.step()

        assert [16 * 4] == seen.series("output/blocks.0.0", "count")


class TestGradientAccumulation:
    def test_outputs_are_those_of_all_micro_batches(self, watched):
        """Merged, they are what the whole batch would have given; gradients are the sums."""
        model = mlp()
        optimizer = sgd(model)
        with watched() as seen:
            outputs = []
            for x, y in zip(X.split(4), Y.split(4), strict=True):
                outputs.append(model(x))
                (F.mse_loss(outputs[-1], y) / 4).backward()
            expected = {f"gradient/{name}": p.grad.clone() for name, p in model.named_parameters()}
            optimizer.step()

        assert {"TRAIN": 1} == seen.counts
        assert_same({**expected, "output/2": torch.cat(outputs)}, rows_of(seen)[0])
        assert ["capturing 4 of 4 parameters, 4 of 4 outputs"] == seen.said

    def test_inputs_tell_of_a_nan_in_a_later_micro_batch(self, watched):
        """The first micro-batch was healthy; what the second was given is captured."""
        model = mlp()
        optimizer = sgd(model)
        bad = X.clone()
        bad[0, 0] = torch.nan
        with watched() as seen:
            for x in (X, bad):
                F.mse_loss(model(x), Y).backward()
            optimizer.step()

        assert [1] == seen.series("input/0/0", "nan")
        assert [64] == seen.series("input/0/0", "count")

    def test_inputs_are_those_of_few_modules(self, watched):
        """Behind the first nan all is nan; to store all of it tells no more."""
        model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(30)), nn.Linear(4, 1))
        with torch.no_grad():
            model[0].bias[0] = torch.nan
        with watched() as seen:
            fit(model, steps=2)

        names = seen.trial.tensor_names(collection="inputs")
        assert sorted(f"input/{number}/0" for number in range(20)) == sorted(names)
