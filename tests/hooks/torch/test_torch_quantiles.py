"""How gradients and outputs are spread."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from stepwatch import Collection, SavePolicy, Schedule
from stepwatch.hooks.torch.collectors import activations
from stepwatch.hooks.torch.collectors.activations import FRACTIONS, MOST_VALUES, spread
from stepwatch.hooks.torch.tensors import evenly_spaced, have_same_layout, strided_runs, subsampled
from tests.support.hooks.torch.summaries_seen import as_on_an_accelerator, names, train, value
from tests.support.hooks.torch.trainings import X, inputs, mlp

ASKED = "quantiles:raw"


def by_hand(values):
    """Return the same in the plainest way, float64."""
    x = np.asarray(values, np.float64).ravel()
    x = x[np.isfinite(x)]
    centred = x - x.mean()
    kurtosis = (centred**4).mean() / (centred**2).mean() ** 2
    return [*np.quantile(x, FRACTIONS), np.median(np.abs(x)), kurtosis]


class TestSpread:
    @pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
    def test_it_is_that_of_the_values(self, scale):
        """Also where the fourth power of a value leaves float32."""
        values = inputs(1001).double() * scale
        assert by_hand(values) == pytest.approx(spread(values).tolist(), rel=1e-6)

    def test_the_kurtosis_of_a_normal_is_three(self):
        """And that of one with an outlier is large."""
        values = inputs(4096).double()
        assert spread(values)[-1].item() == pytest.approx(3.0, abs=0.3)
        values[7] = 3000.0
        assert spread(values)[-1].item() > 1000.0

    def test_what_is_not_finite_is_left_out(self):
        """Of nothing finite all is nan."""
        values = torch.tensor([torch.nan, 1.0, torch.inf, 3.0, -torch.inf], dtype=torch.float64)
        assert by_hand([1.0, 3.0]) == pytest.approx(spread(values).tolist())
        assert spread(values[:1]).isnan().all()

    def test_what_does_not_vary_has_no_kurtosis(self):
        """It is nan, and nobody is warned."""
        found = spread(torch.full((5,), 2.0, dtype=torch.float64))
        assert [2.0] * 6 == found[:6].tolist()
        assert found[6].isnan()


class TestSampling:
    @pytest.mark.parametrize("shape", [(0,), (1,), (4096,), (4097,), (8, 128, 768), (33, 65, 7, 7)])
    def test_no_more_than_asked_for_and_half_of_it_at_least(self, shape):
        """All where there are no more."""
        numel = torch.Size(shape).numel()
        assert (
            min(numel, MOST_VALUES) // 2.2 <= len(evenly_spaced(torch.zeros(shape), 4096)) <= 4096
        )

    def test_every_channel_is_met_alike(self):
        """A stride that shares a factor with their number would meet some of them only."""
        channel = torch.arange(768).expand(8, 128, 768).contiguous()
        counts = torch.bincount(evenly_spaced(channel, 4096), minlength=768)
        assert counts.max() - counts.min() <= 1

    def test_it_lies_where_the_tensor_lies(self):
        """Also where the memory is in another order."""
        image = torch.zeros(4, 3, 50, 50).to(memory_format=torch.channels_last)
        assert image.data_ptr() == evenly_spaced(image, 4096).data_ptr()

    def test_thinning_keeps_all_of_one_axis(self):
        """And about as much as asked for of the others."""
        found = subsampled(torch.zeros(64, 10, 100, 100), 1, 10_000)
        assert found.shape[1] == 10
        assert 2_000 <= found.numel() <= 20_000

    def test_what_lies_otherwise_is_not_compared(self):
        """The stride of a dimension with one element does not count."""
        plain = torch.zeros(4, 3, 2, 2)
        last = plain.to(memory_format=torch.channels_last)
        point = torch.zeros(4, 3, 1, 1)
        assert not have_same_layout(plain, last)
        assert have_same_layout(point, point.to(memory_format=torch.channels_last))
        assert not have_same_layout(plain, torch.zeros(4, 3, 2, 2).to_sparse())

    def test_runs_of_nothing_are_none(self):
        """Nor are there any of integers."""
        assert strided_runs(torch.zeros(0), 4, 4) is None
        assert strided_runs(torch.zeros(3, dtype=torch.int64), 4, 4) is None


class TestQuantiles:
    def test_gradients_and_outputs_have_them(self, watched):
        """Gradients as the optimizer sees them, outputs as modules return them."""
        model = mlp()
        with watched(policy=[ASKED]) as seen:
            train(model, X)

        gradient = by_hand(model[0].weight.grad)
        assert gradient == pytest.approx(value(seen, "quantiles/gradient/0.weight"), rel=1e-5)
        output = by_hand(mlp()[0](X).detach())
        assert output == pytest.approx(value(seen, "quantiles/output/0"), rel=1e-5)

    def test_nothing_is_looked_at_unless_asked_for(self, watched, monkeypatch):
        """Nor at steps of which it was not asked."""
        steps = set()
        original = activations.evenly_spaced
        monkeypatch.setattr(
            activations, "evenly_spaced", lambda *of: (steps.add(len(losses)), original(*of))[1]
        )
        for policy, expected in ((None, set()), (["quantiles:raw:every=2"], {0, 2})):
            losses = []
            with watched(policy=policy):
                train(mlp(), X, steps=4, losses=losses)
            assert expected == steps

    def test_a_pattern_asks_for_one_of_them(self, watched):
        """The others are not there."""
        asked = Collection("mine", ("^quantiles/output/0$",), SavePolicy(raw=Schedule()))
        with watched(policy=[asked]) as seen:
            train(mlp(), X)

        assert ["quantiles/output/0"] == names(seen, "quantiles")

    def test_a_fused_optimizer_is_told_the_scale(self, watched):
        """Its gradients are divided before they are looked at."""
        model = mlp()
        optimizer = torch.optim.AdamW(model.parameters(), fused=True)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        with watched(policy=[ASKED]) as seen:
            scaler.scale(model(X).pow(2).mean()).backward()
            scaler.step(optimizer)

        plain = mlp()
        plain(X).pow(2).mean().backward()
        expected = by_hand(plain[0].weight.grad)
        assert expected == pytest.approx(value(seen, "quantiles/gradient/0.weight"), rel=1e-5)

    def test_those_of_an_accelerator_come_with_the_end_of_the_step(self, watched, monkeypatch):
        """They are the same; here the CPU plays the accelerator."""
        with watched(policy=[ASKED]) as seen:
            train(mlp(), X)
        expected = {name: value(seen, name) for name in names(seen, "quantiles")}
        as_on_an_accelerator(monkeypatch)
        with watched(policy=[ASKED]) as seen:
            train(mlp(), X)

        assert expected.keys() == set(names(seen, "quantiles"))
        for name, one in expected.items():
            np.testing.assert_array_equal(one, value(seen, name))

    def test_what_has_no_values_is_passed_over(self, watched):
        """Integers, empty and sparse tensors; the others are there."""

        class Odd(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                self.ids = nn.Embedding(5, 3, sparse=True)

            def forward(self, x):
                return self.ids(x), x, torch.zeros(0)

        model = Odd()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with watched(policy=[ASKED]) as seen:
            model(torch.tensor([1, 2]))[0].sum().backward()
            optimizer.step()

        assert ["quantiles/output/Odd/0", "quantiles/output/ids"] == names(seen, "quantiles")
