"""By how much each update moves a parameter."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch.hooks.torch import observe
from stepwatch.hooks.torch.collectors.optimizer import (
    UPDATE_RUN_LENGTH,
    UPDATE_RUNS,
    lost_share,
    update_ratios,
)
from tests.support.hooks.torch.trainings import X, Y, fit, inputs, mlp, sgd

EVERY = "updates:statistics:every=1"


def norm(tensor):
    return tensor.double().norm().item()


class TestUpdates:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
    def test_it_is_the_norm_of_the_change_over_that_of_the_weight(self, watched, dtype):
        """Both before the step; computed from copies that the test makes itself."""
        model = mlp().to(dtype)
        optimizer = torch.optim.AdamW(model.parameters(), 0.01)
        expected = []
        with watched(policy=[EVERY]) as seen:
            for _ in range(4):
                optimizer.zero_grad()
                F.mse_loss(model(X.to(dtype)), Y.to(dtype)).backward()
                before = model[0].weight.detach().clone()
                optimizer.step()
                change = model[0].weight.detach().double() - before.double()
                expected.append(norm(change) / norm(before))

        assert expected == pytest.approx(seen.series("update_ratio/0.weight"), rel=1e-5)

    def test_every_parameter_that_can_learn_has_one(self, watched):
        """A frozen one has none, and one without a gradient is not moved."""
        model = mlp()
        model.add_module("unused", nn.Linear(1, 1, bias=False))
        model.unused.forward = lambda x: x
        model[0].bias.requires_grad_(False)
        with watched() as seen:
            fit(model, sgd(model))

        names = seen.trial.tensor_names(collection="updates")
        parameters = ("0.weight", "2.bias", "2.weight", "unused.weight")
        assert [f"update_ratio/{name}" for name in parameters] == names
        assert [0.0] == seen.series("update_ratio/unused.weight")

    def test_a_step_that_is_skipped_moves_nothing(self, watched):
        """A scaler found infinite gradients."""
        model = mlp()
        optimizer = torch.optim.AdamW(model.parameters())
        scaler = torch.amp.GradScaler("cpu")
        with watched(policy=[EVERY]) as seen:
            for factor in (1.0, float("inf")):
                optimizer.zero_grad()
                scaler.scale(F.mse_loss(model(X), Y) * factor).backward()
                scaler.step(optimizer)
                scaler.update()

        first, second = seen.series("update_ratio/0.weight")
        assert first > 0.0
        assert second == 0.0

    def test_what_several_optimizers_step_is_told_of_each(self, watched):
        """In the step that ends with the last of them."""
        first, second = mlp(), nn.Linear(1, 1)
        optimizers = [sgd(first), sgd(second, lr=0.0)]
        with watched(policy=[EVERY]) as seen:
            for _ in range(2):
                F.mse_loss(second(first(X)), Y).backward()
                for optimizer in optimizers:
                    optimizer.step()
                    optimizer.zero_grad()

        assert all(seen.series("update_ratio/0.weight"))
        assert [0.0, 0.0] == seen.series("update_ratio/Linear.weight")

    def test_numbers_on_an_accelerator_come_with_the_end_of_the_step(self, watched, monkeypatch):
        """They are the same; here the CPU plays the accelerator."""
        rows = []
        for on_host in (True, False):
            monkeypatch.setattr(observe, "on_host", lambda _, on_host=on_host: on_host)
            model = mlp()
            with watched(policy=[EVERY]) as seen:
                fit(model, torch.optim.AdamW(model.parameters()))
            rows.append([seen.series("update_ratio/0.weight"), seen.infos()["batch/0"].shape])

        assert rows[0] == rows[1]

    def test_every_tenth_step_is_the_default(self, watched):
        """From the first on."""
        with watched() as seen:
            fit(mlp(), steps=11)

        assert [0, 10] == list(seen.trial.tensor("update_ratio/0.weight").statistics().steps)

    def test_no_copy_is_made_at_other_steps(self, watched):
        """It would cost memory at all steps."""
        kept = []
        model = mlp()
        optimizer = sgd(model)
        with watched() as seen:
            updates = seen.hook._tracker._updates
            # Those of an optimizer are called after those of all optimizers.
            optimizer.register_step_pre_hook(lambda *_: kept.append(len(updates._before)))
            fit(model, optimizer, steps=2)

        assert [4, 0] == kept


class TestLargeParameters:
    def large(self, memory_format=torch.contiguous_format):
        """A parameter that is sampled, and one in which each element moves by its own part."""
        torch.manual_seed(0)
        model = nn.Conv2d(1100, 80, 2, bias=False).to(memory_format=memory_format)
        assert model.weight.numel() > UPDATE_RUNS * UPDATE_RUN_LENGTH
        return model

    @pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
    def test_a_sample_comes_near_the_whole(self, watched, layout):
        """Within 2 percent for a change that is spread over all of it; in any memory layout."""
        model = self.large(layout)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with watched() as seen:
            before = model.weight.detach().clone()
            model.weight.grad = torch.randn(model.weight.shape, generator=torch.Generator()).to(
                memory_format=layout
            )
            F.mse_loss(model(inputs(1, 1100, 2, 2)), inputs(1, 80, 1, 1)).backward()
            optimizer.step()

        change = model.weight.detach() - before
        assert norm(change) / norm(before) == pytest.approx(
            seen.series("update_ratio/weight")[0], rel=0.02
        )

    def test_the_copy_is_no_larger_than_its_bound(self, watched):
        """Whatever the parameter's size: training may need the memory."""
        model = self.large()
        optimizer = sgd(model)
        sizes = []
        with watched() as seen:
            F.mse_loss(model(inputs(1, 1100, 2, 2)), inputs(1, 80, 1, 1)).backward()
            seen.hook._tracker.events.emit("before_optimizer", optimizer)
            sizes = [old.numel() for *_, old in seen.hook._tracker._updates._before]
            seen.hook._tracker.events.emit("after_optimizer", optimizer)

        assert [UPDATE_RUNS * UPDATE_RUN_LENGTH] == sizes


class TestLostUpdates:
    def lost(self, watched, lr, dtype=torch.bfloat16, **options):
        """Train one weight of many elements one step; return what is told of it."""
        torch.manual_seed(0)
        model = nn.Linear(4, 512, bias=False).to(dtype)
        nn.init.normal_(model.weight)
        before = model.weight.detach().clone()
        optimizer = torch.optim.SGD(model.parameters(), lr)
        x = X.to(dtype) * torch.tensor([1.0, 1.0, 1.0, 0.0], dtype=dtype)  # no gradient at the end
        with watched(policy=[EVERY], **options) as seen:
            model(x).sum().backward()
            optimizer.step()
        found = "lost_updates/weight" in seen.trial.tensor_names(collection="updates")
        same = (model.weight.detach() == before)[:, :3].float().mean().item()
        return (seen.series("lost_updates/weight")[0] if found else None), same

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    @pytest.mark.parametrize("lr", [1e-1, 1e-3, 1e-5])
    def test_it_is_the_share_that_rounding_left_where_it_was(self, watched, dtype, lr):
        """Of the elements with a gradient; counted by the test itself."""
        found, expected = self.lost(watched, lr, dtype)
        assert expected == pytest.approx(found)

    def test_small_updates_of_large_weights_are_lost(self, watched):
        """Nearly all of them at a ten-thousandth, in bfloat16."""
        assert self.lost(watched, 1e-6)[0] > 0.97
        assert self.lost(watched, 1.0)[0] < 0.05

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_weights_in_full_precision_have_none(self, watched, dtype):
        """What they lose does not matter."""
        assert self.lost(watched, 1e-3, dtype)[0] is None

    def test_a_weight_without_gradient_has_none(self, watched):
        """Nothing was to move."""
        model = mlp().to(torch.bfloat16)
        model.add_module("unused", nn.Linear(1, 1, bias=False, dtype=torch.bfloat16))
        model.unused.forward = lambda x: x
        optimizer = sgd(model)
        with watched(policy=[EVERY]) as seen:
            for _ in range(2):
                model(X.to(torch.bfloat16)).pow(2).mean().backward()
                optimizer.step()

        names = seen.trial.tensor_names(collection="updates")
        assert "lost_updates/2.weight" in names
        assert "lost_updates/unused.weight" not in names
        assert "update_ratio/unused.weight" in names

    def test_where_nothing_was_to_move_the_share_is_nan(self):
        """No share of nothing."""
        zeros, ones = torch.zeros(3), torch.ones(3, dtype=torch.bool)
        assert lost_share(zeros, zeros, ~ones).isnan()
        assert lost_share(zeros, zeros, ones) == 1.0


class TestUpdateRatio:
    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            ([3.0, 4.0], [3.0, 4.0], 0.0),
            ([3.0, 4.0], [0.0, 0.0], 1.0),
            ([3.0, 4.0], [6.0, 8.0], 1.0),
            ([0.0, 0.0], [0.0, 1e-3], 1.0),
            ([0.0, 0.0], [0.0, 0.0], 0.0),
        ],
    )
    def test_it_is_never_divided_by_zero(self, old, new, expected):
        """What was all zero has moved as a whole, or not at all."""
        assert [expected] == update_ratios((torch.tensor(old),), (torch.tensor(new),)).tolist()

    def test_what_became_nan_is_nan(self):
        """It is not hidden."""
        found = update_ratios((torch.tensor([1.0, 2.0]),), (torch.tensor([1.0, math.nan]),))
        assert math.isnan(found.item())


class TestTogether:
    def test_parameters_of_several_dtypes_have_ratios_of_their_own(self, watched):
        """What is computed together for all is what each has alone."""
        torch.manual_seed(0)
        model = Several()
        optimizer = torch.optim.AdamW(model.parameters(), 0.1)
        with watched(policy=[EVERY, "optimizer_states:statistics:every=1"]) as seen:
            for _ in range(2):
                model().backward()
                before = {name: one.detach().clone() for name, one in model.named_parameters()}
                optimizer.step()
                optimizer.zero_grad(set_to_none=False)

        assert len(before) == 6
        for name, parameter in model.named_parameters():
            expected = norm(parameter.detach() - before[name]) / norm(before[name])
            assert expected == pytest.approx(seen.series(f"update_ratio/{name}")[1], rel=1e-2)
            assert 0.9 < seen.series(f"update_rms/{name}")[1] < 1.1


class Several(nn.Module):
    """A layer of each of three dtypes; its gradients are the same at each step."""

    def __init__(self):
        super().__init__()
        kinds = (torch.float32, torch.float64, torch.bfloat16)
        self.layers = nn.ModuleList([nn.Linear(4, 4).to(kind) for kind in kinds])

    def forward(self):
        given = torch.ones(2, 4)
        return sum(one(given.to(one.weight.dtype)).float().sum() for one in self.layers)
