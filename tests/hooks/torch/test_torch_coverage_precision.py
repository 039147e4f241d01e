"""Mixed precision: what autocast computes in, and gradients as they are after unscaling."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.hooks.torch.captured_rows import assert_same, names_of, rows_of
from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd

SCALE = 1024.0


def scaled_step(model, optimizer, scaler, *, factor=1.0, unscale=False):
    """Train one step as the manual says, and return the gradients without any scaling."""
    loss = F.mse_loss(model(X), Y) * factor
    gradients = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    if unscale:
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    names = [name for name, _ in model.named_parameters()]
    return dict(zip((f"gradient/{name}" for name in names), gradients, strict=True))


def scaler_of(**options):
    return torch.amp.GradScaler("cpu", init_scale=SCALE, **options)


class TestAutocast:
    def test_outputs_are_captured_in_the_dtype_that_they_have(self, watched):
        """Layers compute in bfloat16, weights and gradients stay float32."""
        model = mlp()
        outputs = {}
        for name in "012":
            model[int(name)].register_forward_hook(
                lambda _, __, output, name=name: outputs.update({f"output/{name}": output})
            )

        def run(x):
            with torch.autocast("cpu", torch.bfloat16):
                return model(x)

        with watched() as seen:
            fit(run, sgd(model), steps=1, loss=lambda out, y: F.mse_loss(out.float(), y))

        assert_same(outputs, rows_of(seen)[0])
        dtypes = {name: info.dtype for name, info in seen.infos().items()}
        assert {"bfloat16"} == {dtypes[name] for name in outputs}
        assert "float32" == dtypes["0.weight"] == dtypes["gradient/0.weight"]

    def test_the_same_tensors_are_captured(self, watched):
        """Autocast changes values, not what there is."""
        with watched() as plain:
            fit(mlp())
        model = mlp()

        def run(x):
            with torch.autocast("cpu", torch.bfloat16):
                return model(x)

        with watched() as seen:
            fit(run, sgd(model), loss=lambda out, y: F.mse_loss(out.float(), y))

        assert set(plain.infos()) == set(seen.infos())
        assert plain.said == seen.said


class TestGradScaler:
    @pytest.mark.parametrize("unscale", [True, False], ids=["unscale_", "step only"])
    @pytest.mark.parametrize("fused", [False, True], ids=["plain", "fused"])
    def test_gradients_are_those_after_unscaling(self, watched, unscale, fused):
        """Whoever unscales: the script, the scaler, or a fused optimizer while it steps."""
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=fused)
        scaler = scaler_of()
        with watched() as seen:
            steps = [scaled_step(model, optimizer, scaler, unscale=unscale) for _ in range(3)]

        for expected, rows in zip(steps, rows_of(seen), strict=True):
            assert_same(expected, rows)

    @pytest.mark.parametrize("fused", [False, True], ids=["plain", "fused"])
    def test_full_values_are_unscaled_too(self, watched, fused):
        """Statistics and full values are of the same gradients."""
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=fused)
        with watched(policy=["gradients:raw:every=1"]) as seen:
            expected = scaled_step(model, optimizer, scaler_of())

        value = seen.trial.tensor("gradient/0.weight").value(0)
        np.testing.assert_array_equal(expected["gradient/0.weight"].numpy(), value)

    @pytest.mark.parametrize("fused", [False, True], ids=["plain", "fused"])
    def test_each_step_says_whether_it_was_skipped(self, watched, fused):
        """A fused optimizer is called also at a step that it then skips."""
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=fused)
        scaler = scaler_of()
        with watched() as seen:
            for factor in (1.0, float("inf"), 1.0, 1.0):
                scaled_step(model, optimizer, scaler, factor=factor)

        assert [0.0, 1.0, 0.0, 0.0] == seen.series("optimizer/skipped")
        assert {"TRAIN": 4} == seen.counts

    @pytest.mark.parametrize("hold", [True, False])
    def test_each_step_says_its_scale(self, watched, hold):
        """It is the scale of the step's own loss, from before the scaler's update."""
        model = mlp()
        optimizer, scaler = sgd(model), scaler_of(growth_interval=2)
        with watched(hold=hold) as seen:
            for factor in (1.0, 1.0, float("inf"), 1.0):
                scaled_step(model, optimizer, scaler, factor=factor)

        # It grew after two good steps, and was halved after the infinite one.
        assert [SCALE, SCALE, 2 * SCALE, SCALE] == seen.series("optimizer/loss_scale")

    def test_several_optimizers_share_a_scale(self, watched):
        """One step, in which one of two is skipped."""
        first, second = nn.Linear(4, 4), nn.Linear(4, 1)
        optimizers, scaler = [sgd(first), sgd(second)], scaler_of()
        with watched() as seen:
            loss = F.mse_loss(second(first(X)), Y)
            scaler.scale(loss).backward()
            second.weight.grad[0, 0] = torch.inf
            for optimizer in optimizers:
                scaler.step(optimizer)
            scaler.update()

        assert {"TRAIN": 1} == seen.counts
        assert [SCALE] == seen.series("optimizer/loss_scale")
        assert [0.5] == seen.series("optimizer/skipped")

    def test_all_is_covered(self, watched):
        """Nothing but the scaler's own numbers comes to it."""
        with watched() as plain:
            fit(mlp())
        model = mlp()
        optimizer, scaler = sgd(model), scaler_of()
        with watched() as seen:
            scaled_step(model, optimizer, scaler)

        ours = {"optimizer/loss_scale", "optimizer/skipped"}
        assert ours == set(names_of(seen, "optimizer")) - set(names_of(plain, "optimizer"))
        assert plain.said == seen.said

    def test_a_scaler_that_is_off_says_nothing(self, watched):
        """There is no scale and nothing to skip."""
        model = mlp()
        with watched() as seen:
            scaled_step(model, sgd(model), scaler_of(enabled=False))

        assert ["optimizer/stale_gradients"] == names_of(seen, "optimizer")

    def test_a_step_without_the_scaler_has_no_scale(self, watched):
        """What the last scaled step left behind is not told of the next one."""
        model = mlp()
        optimizer, scaler = sgd(model), scaler_of()
        with watched() as seen:
            scaled_step(model, optimizer, scaler)
            fit(model, optimizer, steps=1)

        assert [0] == seen.trial.tensor("optimizer/loss_scale").steps()
