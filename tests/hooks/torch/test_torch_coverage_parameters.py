"""Parameters in all their roles: each is captured once, whoever holds it."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.hooks.torch.captured_rows import assert_same, names_of, rows_of
from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd

pytestmark = pytest.mark.usefixtures("nothing_compiled")


class TiedAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.encode = nn.Linear(4, 4, bias=False)
        self.decode = nn.Linear(4, 4, bias=False)
        self.decode.weight = self.encode.weight

    def forward(self, x):
        return self.decode(torch.tanh(self.encode(x)))


class LowRank(nn.Module):
    """A frozen layer and what is learnt beside it, as LoRA has it (Hu et al., 2021)."""

    def __init__(self, frozen):
        super().__init__()
        self.frozen = frozen.requires_grad_(False)
        self.down = nn.Linear(frozen.in_features, 2, bias=False)
        self.up = nn.Linear(2, frozen.out_features, bias=False)

    def forward(self, x):
        return self.frozen(x) + self.up(self.down(x))


class TwoRoads(nn.Module):
    """Only one of two layers is taken."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.one, self.other = nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, x):
        return self.one(x)


def train_one(seen, model, *optimizers, loss=lambda output: F.mse_loss(output, Y)):
    """Train one step; return the weights of its forward and the gradients."""
    expected = {name: one.detach().clone() for name, one in model.named_parameters()}
    with seen:
        loss(model(X)).backward()
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                expected[f"gradient/{name}"] = parameter.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    return expected


class TestParameters:
    def test_several_optimizers_share_a_step(self, watched):
        """Each parameter once, and a learning rate for each group."""
        model = mlp()
        one, other = sgd(model[0]), torch.optim.Adam(model[2].parameters(), lr=0.01)
        seen = watched()
        expected = train_one(seen, model, one, other)

        assert_same(expected, rows_of(seen)[0])
        assert sorted(expected) == names_of(seen, "weights", "gradients")
        assert ["learning_rate/0", "learning_rate/1"] == names_of(seen, "learning_rates")
        assert ["capturing 4 of 4 parameters, 4 of 4 outputs"] == seen.said

    def test_groups_of_one_optimizer_have_learning_rates_of_their_own(self, watched):
        """Weights decay and biases do not, as most trainings have it."""
        model = mlp()
        groups = [
            {"params": [model[0].weight, model[2].weight], "lr": 0.1, "weight_decay": 0.01},
            {"params": [model[0].bias, model[2].bias], "lr": 0.2},
        ]
        seen = watched()
        expected = train_one(seen, model, torch.optim.AdamW(groups))

        assert_same(expected, rows_of(seen)[0])
        assert [0.1, 0.2] == [seen.series(f"learning_rate/{group}")[0] for group in range(2)]
        assert ["capturing 4 of 4 parameters, 4 of 4 outputs"] == seen.said

    def test_a_weight_with_two_names_is_one(self, watched):
        """It is known by the first, and its gradient is the sum of both uses."""
        model = TiedAutoencoder()
        optimizer = sgd(model)
        seen = watched()
        expected = train_one(seen, model, optimizer, loss=lambda out: F.mse_loss(out, X))

        assert ["encode.weight", "gradient/encode.weight"] == sorted(expected)
        assert_same(expected, rows_of(seen)[0])
        assert sorted(expected) == names_of(seen, "weights", "gradients")
        assert ["capturing 1 of 1 parameters, 3 of 3 outputs"] == seen.said

    def test_a_frozen_layer_is_captured_without_a_gradient(self, watched):
        """There is none to capture, so nothing is missing."""
        model = mlp()
        model[0].requires_grad_(False)
        optimizer = sgd(model[2])
        seen = watched()
        expected = train_one(seen, model, optimizer)

        assert {"gradient/2.weight", "gradient/2.bias"} == expected.keys() - {
            name for name, _ in model.named_parameters()
        }
        assert_same(expected, rows_of(seen)[0])
        assert sorted(expected) == names_of(seen, "weights", "gradients")
        assert ["capturing 4 of 4 parameters, 4 of 4 outputs"] == seen.said

    def test_low_rank_layers_and_what_they_adapt_are_captured(self, watched):
        """The optimizer holds a small part of the model, and all of it is captured."""
        model = mlp()
        model[0], model[2] = LowRank(model[0]), LowRank(model[2])
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(trained)
        seen = watched()
        expected = train_one(seen, model, optimizer)

        assert_same(expected, rows_of(seen)[0])
        assert sorted(expected) == names_of(seen, "weights", "gradients")
        assert ["capturing 8 of 8 parameters, 10 of 10 outputs"] == seen.said

    def test_a_parameter_without_a_gradient_in_this_step_is_captured(self, watched):
        """The layer did not run; its weights are known, and its outputs are named as missing."""
        model = TwoRoads()
        optimizer = sgd(model)
        seen = watched()
        expected = train_one(seen, model, optimizer)

        assert {"gradient/other.weight", "other.weight"} - expected.keys() == {
            "gradient/other.weight"
        }
        assert_same(expected, rows_of(seen)[0])
        assert sorted(expected) == names_of(seen, "weights", "gradients")
        assert [
            "capturing 4 of 4 parameters, 2 of 3 outputs (not called in this step: other)"
        ] == seen.said

    def test_a_model_that_trains_in_eval_mode_is_covered(self, watched):
        """As one is fine-tuned whose batch norm is to stay as it is."""
        model = mlp().eval()
        with watched() as seen:
            fit(model)

        assert ["capturing 4 of 4 parameters, 4 of 4 outputs"] == seen.said
        assert {"TRAIN": 3} == seen.counts
