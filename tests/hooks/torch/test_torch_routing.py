"""Which experts routers choose first."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from stepwatch.hooks.torch.collectors import activations
from stepwatch.hooks.torch.collectors.activations import MOST_TOKENS, first_choices
from tests.support.hooks.torch.summaries_seen import as_on_an_accelerator, names, train, value
from tests.support.hooks.torch.trainings import inputs

X = inputs(2, 6, 8)


class Experts(nn.Module):
    """A mixture of experts, in which the router has some name."""

    def __init__(self, name="gate", num_experts=4, num_logits=None):
        super().__init__()
        torch.manual_seed(0)
        self.name = name
        self.add_module(name, nn.Linear(8, num_logits or num_experts))
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(num_experts))

    def forward(self, x):
        shares = self.get_submodule(self.name)(x).softmax(-1)
        return sum(shares[..., [e]] * expert(x) for e, expert in enumerate(self.experts))


def expected_shares(model, x):
    choices = model.get_submodule(model.name)(x).argmax(-1).flatten()
    return (torch.bincount(choices, minlength=len(model.experts)) / len(choices)).numpy()


class TestFirstChoices:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    def test_they_are_shares_of_the_tokens(self, dtype):
        """Over all dimensions but the last."""
        logits = torch.tensor([[[0.0, 2, 1], [5, 1, 1]], [[0, 1, 0], [0, 3, 2]]], dtype=dtype)
        assert [0.25, 0.75, 0.0] == first_choices(logits).tolist()

    def test_of_many_tokens_evenly_spaced_ones_are_asked(self):
        """They come near the whole, and their shares still sum to one."""
        logits = torch.zeros(3 * MOST_TOKENS, 2)
        logits[:MOST_TOKENS, 1] = 1.0
        found = first_choices(logits)
        assert [2 / 3, 1 / 3] == pytest.approx(found.tolist(), abs=1e-3)
        assert found.sum().item() == pytest.approx(1.0)


class TestRouting:
    @pytest.mark.parametrize("name", ["gate", "router", "expert_gate", "top_router"])
    def test_a_router_is_known_by_its_name_and_its_neighbours(self, watched, name):
        """It stands beside as many experts as it has outputs."""
        with watched() as seen:
            train(Experts(name), X)

        np.testing.assert_allclose(
            expected_shares(Experts(name), X), value(seen, f"routing/{name}"), rtol=1e-6
        )

    @pytest.mark.parametrize(
        "model",
        [Experts("mixer"), Experts("gates"), Experts("delegate"), nn.Sequential(nn.Linear(8, 4))],
        ids=["other name", "longer name", "no word of its own", "no experts"],
    )
    def test_other_modules_are_none(self, watched, model):
        """Nothing is told of them."""
        with watched() as seen:
            train(model, X)

        assert [] == names(seen, "routing")

    def test_a_gate_of_something_else_is_none(self, watched):
        """A gated MLP has one, as wide as it is itself."""

        class Gated(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate, self.up = nn.Linear(8, 8), nn.Linear(8, 8)

            def forward(self, x):
                return self.gate(x).sigmoid() * self.up(x)

        with watched() as seen:
            train(Gated(), X)

        assert [] == names(seen, "routing")

    def test_every_router_of_a_model_is_told(self, watched):
        """By its path."""
        with watched() as seen:
            train(nn.Sequential(Experts(), nn.Sequential(Experts("router", 3))), X)

        assert ["routing/0.gate", "routing/1.0.router"] == names(seen, "routing")

    def test_every_tenth_step_is_the_default(self, watched, monkeypatch):
        """At others the logits are not looked at."""
        steps, losses = [], []
        original = activations.first_choices
        monkeypatch.setattr(
            activations, "first_choices", lambda x: (steps.append(len(losses)), original(x))[1]
        )
        with watched():
            train(Experts(), X, steps=12, losses=losses)

        assert [0, 10] == steps

    def test_those_of_an_accelerator_come_with_the_end_of_the_step(self, watched, monkeypatch):
        """They are the same; here the CPU plays the accelerator."""
        as_on_an_accelerator(monkeypatch)
        with watched() as seen:
            train(Experts(), X)

        expected = expected_shares(Experts(), X)
        np.testing.assert_allclose(expected, value(seen, "routing/gate"), rtol=1e-6)

    def test_inside_of_a_compiled_graph_nothing_is_told(self, watched):
        """And nothing breaks it."""
        with watched() as seen:
            model = Experts()
            train(model, X, run=torch.compile(model, backend="eager", fullgraph=True))

        assert [] == names(seen, "routing")

    def test_losses_are_those_of_an_unwatched_training(self, watched):
        """To the last bit."""
        expected = train(Experts(), X, steps=2)
        with watched(policy=["routing:raw"]):
            assert expected == train(Experts(), X, steps=2)
