"""The coverage line: nothing is left out in silence."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd

pytestmark = pytest.mark.usefixtures("nothing_compiled")


class TestCoverage:
    def test_all_of_a_plain_model_is_captured(self, watched):
        """The line is said once, at the end of the first step, and noted with the run."""
        with watched() as seen:
            fit(mlp())

        assert ["capturing 4 of 4 parameters, 4 of 4 outputs"] == seen.said
        assert seen.said[0] == seen.end.coverage == seen.trial.reader.ends()["worker_0"].coverage

    def test_a_module_that_is_never_called_is_named(self, watched):
        """Its parameters are captured, its outputs cannot be."""
        model = mlp()
        model.forward = lambda x: model[2](model[1](model[0](x)))
        model.unused = nn.Linear(2, 2)
        with watched() as seen:
            fit(model)

        assert [
            "capturing 6 of 6 parameters, 4 of 5 outputs (not called in this step: unused)"
        ] == seen.said

    def test_a_compiled_model_shows_as_much(self, watched):
        """Its graph holds the statistics of what runs inside."""
        model = torch.compile(mlp(), backend="eager")
        with watched() as seen:
            fit(model)

        assert ["capturing 4 of 4 parameters, 4 of 4 outputs"] == seen.said

    def test_a_scripted_model_shows_what_it_returns(self, watched):
        """What happens inside of TorchScript is not Python."""
        model = torch.jit.script(mlp())
        with watched() as seen:
            fit(model)

        assert [
            "capturing 4 of 4 parameters, 1 of 4 outputs (inside a scripted module: 0, 1, 2)"
        ] == seen.said

    def test_a_sparse_gradient_is_captured(self, watched):
        """It is one as any other, with many zeros."""
        model = nn.Embedding(10, 4, sparse=True)
        optimizer = torch.optim.SparseAdam(list(model.parameters()))
        with watched() as seen:
            model(torch.tensor([1, 2])).sum().backward()
            optimizer.step()

        assert ["capturing 1 of 1 parameters, 1 of 1 outputs"] == seen.said

    def test_complex_parameters_are_captured(self, watched):
        """They have no order; their magnitudes have."""
        model = nn.Linear(2, 2, dtype=torch.complex64)
        optimizer = sgd(model)
        with watched() as seen:
            model(torch.ones(1, 2, dtype=torch.complex64)).abs().sum().backward()
            optimizer.step()

        assert ["capturing 2 of 2 parameters, 1 of 1 outputs"] == seen.said

    def test_dtypes_that_numpy_does_not_know_do_no_harm(self, watched):
        """They are refused, one by one, with their names."""

        class Odd(nn.Module):
            def __init__(self, dtype):
                super().__init__()
                self.fc, self.dtype = nn.Linear(4, 1), dtype

            def forward(self, x):
                return self.fc(x), torch.empty(2, dtype=torch.uint8).view(self.dtype)

        for dtype in (
            torch.float8_e4m3fn,
            torch.float8_e5m2fnuz,
            torch.float8_e8m0fnu,
            torch.bits8,
        ):
            with watched() as seen:
                fit(Odd(dtype), loss=lambda out, y: F.mse_loss(out[0], y))
            assert {"TRAIN": 3} == seen.counts

    def test_a_leftover_optimizer_is_no_part_of_it(self, watched):
        """A notebook keeps models of earlier cells; what does not train is not looked for."""
        other = nn.Linear(3, 3)
        leftover = sgd(other)
        with watched() as seen:
            fit(mlp())
            with torch.no_grad():
                nn.Linear(4, 1)(X)

        assert ["capturing 4 of 4 parameters, 4 of 4 outputs"] == seen.said
        assert {"TRAIN": 3, "EVAL": 1} == seen.counts
        assert Y.shape == (16, 1)
        assert leftover is not None
