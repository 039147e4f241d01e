"""Which units are active, and which saturated."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.utils.checkpoint import checkpoint

from stepwatch.hooks.torch.collectors import activations
from stepwatch.hooks.torch.collectors.activations import (
    MOST_CALLS,
    SLOPES,
    active_share,
    inside_share,
)
from tests.support.hooks.torch.summaries_seen import as_on_an_accelerator, names, train, value
from tests.support.hooks.torch.trainings import X, inputs

ASKED = "activity:raw"
RELU = F.relu.__code__


def biased(bias, *after):
    """Return a model whose units are shifted by so much before what follows."""
    torch.manual_seed(0)
    linear = nn.Linear(4, 8)
    nn.init.constant_(linear.bias, bias)
    return nn.Sequential(linear, *after)


class Calling(nn.Module):
    """Calls a function where others have a module."""

    def __init__(self, call, times=1):
        super().__init__()
        torch.manual_seed(0)
        self.fc = nn.Linear(4, 8)
        self.call, self.times = call, times

    def forward(self, x):
        x = self.fc(x)
        for _ in range(self.times):
            x = self.call(x - 0.1)
        return x


class TestShares:
    @pytest.mark.parametrize(
        ("shape", "axes"), [((6, 5), 0), ((6, 7, 5), (0, 1)), ((6, 5, 4, 3), (0, 2, 3))]
    )
    def test_units_lie_along_one_axis(self, shape, axes):
        """The second, but the last of three; over all others a share is taken."""
        values = inputs(*shape)
        expected = (values.numpy() > 0).mean(axes)
        np.testing.assert_allclose(active_share(values).numpy(), expected, rtol=1e-6)

    @pytest.mark.parametrize(
        ("kind", "function"), [("tanh", torch.tanh), ("sigmoid", torch.sigmoid)]
    )
    def test_inside_is_where_the_derivative_is_above_a_slope(self, kind, function):
        """For each of the slopes; asked of autograd."""
        x = torch.linspace(-20, 20, 4001, dtype=torch.float64, requires_grad=True)
        (derivative,) = torch.autograd.grad(function(x).sum(), x)
        found = inside_share(x.detach()[:, None], kind)
        for row, slope in enumerate(SLOPES):
            expected = (derivative > slope).double().mean().item()
            assert expected == pytest.approx(found[row].item(), abs=6e-4)

    @pytest.mark.parametrize(
        ("kind", "low", "high"), [("tanh", -9.4999, 9.4999), ("sigmoid", -23.0, 16.99999)]
    )
    def test_the_last_row_is_the_interval_of_smdebug(self, kind, low, high):
        """Strictly inside of it."""
        edges = torch.tensor([low - 1e-3, low + 1e-3, high - 1e-3, high + 1e-3])
        assert inside_share(edges[:, None], kind)[3].item() == 0.5

    def test_low_precision_does_not_move_the_edges(self):
        """In bfloat16 itself 9.4999 would be 9.5."""
        given = torch.full((2, 1), 9.5, dtype=torch.bfloat16)
        assert inside_share(given, "tanh")[3].item() == 0.0

    def test_a_nan_is_neither_active_nor_inside(self):
        """It counts as one of the values."""
        values = torch.tensor([[torch.nan], [1.0]])
        assert active_share(values).item() == 0.5
        assert inside_share(values, "sigmoid")[:, 0].tolist() == [0.5] * 4

    def test_of_many_values_a_sample_comes_near(self, monkeypatch):
        """It is spread over all of them."""
        values = inputs(40, 6, 30, 30)
        expected = active_share(values)
        monkeypatch.setattr(activations, "MOST_ELEMENTS", values.numel() // 20)
        torch.testing.assert_close(active_share(values), expected, atol=0.05, rtol=0)


class TestActivity:
    @pytest.mark.parametrize(("bias", "expected"), [(-100.0, 0.0), (100.0, 1.0)])
    def test_units_of_a_relu_are_told(self, watched, bias, expected):
        """Dead ones are never above zero."""
        with watched(policy=[ASKED]) as seen:
            train(biased(bias, nn.ReLU()), X)

        assert [expected] * 8 == value(seen, "active/1").tolist()

    @pytest.mark.parametrize("inplace", [False, True])
    def test_it_is_the_share_above_zero(self, watched, inplace):
        """Also where the ReLU writes over what it is given."""
        with watched(policy=[ASKED]) as seen:
            train(biased(0.0, nn.ReLU(inplace)), X)

        expected = (biased(0.0)(X) > 0).float().mean(0)
        np.testing.assert_allclose(value(seen, "active/1"), expected.numpy(), rtol=1e-6)

    @pytest.mark.parametrize(("kind", "module"), [("tanh", nn.Tanh), ("sigmoid", nn.Sigmoid)])
    def test_inputs_of_saturating_functions_are_told(self, watched, kind, module):
        """Of all units, in four rows; of the inputs, not the outputs."""
        with watched(policy=[ASKED]) as seen:
            train(biased(1e3, module()), X)

        assert (4, 8) == value(seen, f"inside/1/{kind}").shape
        assert value(seen, f"inside/1/{kind}").max() == 0.0

    @pytest.mark.parametrize(
        ("call", "name"),
        [(F.relu, "active/Calling"), (F.tanh, "inside/Calling/tanh")],
    )
    def test_functions_are_told_with_the_module_that_calls_them(self, watched, call, name):
        """Of ``torch.nn.functional``; also imported by name before."""
        with watched(policy=[ASKED]) as seen:
            train(Calling(call), X)

        assert [name] == names(seen, "activity")

    def test_further_calls_have_names_of_their_own(self, watched):
        """As of one ReLU that a block uses twice; up to a number."""
        relu = nn.ReLU()
        with watched(policy=[ASKED]) as seen:
            train(Calling(relu, times=MOST_CALLS + 2), X)

        numbers = [f"/{number}" for number in range(1, MOST_CALLS)]
        assert [f"active/call{each}" for each in ("", *numbers)] == names(seen, "activity")

    def test_the_first_of_several_batches_is_told(self, watched):
        """With gradient accumulation the model runs again within a step."""
        model = biased(0.0, nn.ReLU())
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with watched(policy=[ASKED]) as seen:
            for x in (X, -X):
                model(x).sum().backward()
            optimizer.step()

        assert ["active/1"] == names(seen, "activity")
        expected = (biased(0.0)(X) > 0).float().mean(0)
        np.testing.assert_allclose(value(seen, "active/1"), expected.numpy(), rtol=1e-6)

    def test_evaluations_are_told_too(self, watched):
        """They are steps as others."""
        model = biased(0.0, nn.ReLU()).eval()
        with watched(policy=[ASKED]) as seen, torch.no_grad():
            model(X)

        assert (8,) == value(seen, "active/1").shape

    def test_one_sample_has_no_share(self, watched):
        """There is nothing to take it over."""
        with watched(policy=[ASKED]) as seen:
            train(biased(0.0, nn.ReLU()), X[0])

        assert [] == names(seen, "activity")

    def test_those_of_an_accelerator_come_with_the_end_of_the_step(self, watched, monkeypatch):
        """They are the same; here the CPU plays the accelerator."""
        found = []
        for _ in range(2):
            with watched(policy=[ASKED]) as seen:
                train(biased(0.0, nn.ReLU(), nn.Sigmoid()), X)
            found.append([value(seen, name) for name in ("active/1", "inside/2/sigmoid")])
            as_on_an_accelerator(monkeypatch)

        for here, there in zip(*found, strict=True):
            np.testing.assert_array_equal(here, there)


class TestUnharmed:
    def test_nothing_is_exchanged_unless_asked_for(self, watched):
        """And put back after."""
        with watched():
            assert F.relu.__code__ is RELU
        with watched(policy=[ASKED]):
            assert F.relu.__code__ is not RELU
        assert F.relu.__code__ is RELU

    def test_at_other_steps_nothing_is_computed(self, watched, monkeypatch):
        """No pass over the outputs."""
        steps, losses = [], []
        original = activations.active_share
        monkeypatch.setattr(
            activations, "active_share", lambda x: (steps.append(len(losses)), original(x))[1]
        )
        with watched(policy=["activity:raw:every=3"]):
            train(biased(0.0, nn.ReLU()), X, steps=5, losses=losses)

        assert [0, 3] == steps

    def test_losses_are_those_of_an_unwatched_training(self, watched):
        """To the last bit."""

        def losses():
            return train(biased(0.0, nn.ReLU(True), nn.Tanh(), nn.Linear(8, 2)), X, steps=3)

        expected = losses()
        with watched(policy=[ASKED, "quantiles:raw", "channels:raw"]):
            assert expected == losses()

    @pytest.mark.slow
    @pytest.mark.parametrize("whole", [True, False])
    def test_compiled_graphs_are_what_they_were(self, watched, whole):
        """As many, without a break; inside of them nothing is told."""

        def run(model):
            torch._dynamo.reset()
            torch._dynamo.utils.counters.clear()
            compiled = torch.compile(model, backend="eager", fullgraph=whole)
            losses = train(model, X, run=compiled, steps=2)
            counters = torch._dynamo.utils.counters
            return losses, counters["stats"]["unique_graphs"], dict(counters["graph_break"])

        def model():
            return nn.Sequential(Calling(F.relu), nn.ReLU(), nn.Tanh())

        with watched():
            expected = run(model())
        with watched(policy=[ASKED]) as seen:
            assert expected == run(model())
        assert [] == names(seen, "activity")

    def test_it_can_be_scripted(self, watched):
        """As without."""
        with watched(policy=[ASKED]):
            scripted = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
            assert (scripted(X) >= 0).all()

    def test_it_can_be_traced_symbolically(self, watched):
        """What stands for a tensor is none."""
        with watched(policy=[ASKED]):
            traced = torch.fx.symbolic_trace(Calling(F.relu))
            assert (traced(X) >= 0).all()

    def test_what_is_computed_again_is_not_told_again(self, watched):
        """Checkpointing runs the forward twice."""
        model = biased(0.0, nn.ReLU())
        with watched(policy=[ASKED]) as seen:
            train(model, X, run=lambda x: checkpoint(model, x, use_reentrant=False))

        assert ["active/1"] == names(seen, "activity")
