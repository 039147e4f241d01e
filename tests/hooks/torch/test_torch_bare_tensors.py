"""Trainings of tensors that no module and no optimizer holds, as first lessons write them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch.rules import watch

X = torch.randn(256, 4, generator=torch.Generator().manual_seed(0))
Y = (X[:, 0] * X[:, 1] > 0).long()


class Layer:
    """A layer as people write it who have not heard of modules."""

    def __init__(self, inputs, outputs):
        self.weight = (torch.randn(inputs, outputs) / inputs**0.5).requires_grad_()
        self.bias = torch.zeros(outputs, requires_grad=True)

    def __call__(self, x):
        return x @ self.weight + self.bias


def learn(how="in place", steps=12, rate=0.1, *, evaluates=False, forgets=False):
    """Fit two layers by hand.

    Args:
        how: The way in which they are updated.
        evaluates: Compute a loss without gradients after each step.
        forgets: Do not set gradients to zero.
    """
    torch.manual_seed(0)
    first, last = Layer(4, 16), Layer(16, 2)
    weights = [(layer, name) for layer in (first, last) for name in ("weight", "bias")]
    for _ in range(steps):
        rows = torch.randint(0, len(X), (32,))
        loss = F.cross_entropy(last(torch.tanh(first(X[rows]))), Y[rows])
        if how == "by grad":
            gradients = torch.autograd.grad(loss, [getattr(*one) for one in weights])
        else:
            loss.backward()
            gradients = [getattr(*one).grad for one in weights]
        for (layer, name), gradient in zip(weights, gradients, strict=True):
            tensor = getattr(layer, name)
            if how == "data":
                tensor.data -= rate * gradient
            elif how == "anew":
                setattr(layer, name, (tensor - rate * gradient).detach().requires_grad_())
            else:
                with torch.no_grad():
                    tensor -= rate * gradient
            if not forgets:
                tensor.grad = None
        if evaluates:
            with torch.no_grad():
                F.cross_entropy(last(torch.tanh(first(X))), Y)


WAYS = ("in place", "data", "anew", "by grad")


@pytest.mark.parametrize("how", WAYS)
def test_each_update_is_a_step(watched, how):
    with watched() as seen:
        learn(how)

    assert 12 == len(seen.trial.steps("TRAIN"))
    assert {"first_weight", "first_bias", "last_weight", "last_bias"} == set(
        seen.trial.tensor_names(collection="weights")
    )
    for name in seen.trial.tensor_names(collection="gradients"):
        assert 12 == len(seen.trial.tensor(name).steps())


@pytest.mark.parametrize("how", WAYS)
def test_steps_of_which_only_losses_are_observed_end_as_well(watched, how):
    with watched(budget=1e-6) as seen:
        learn(how, steps=60)

    assert 60 == len(seen.trial.tensor("loss/cross_entropy").steps("TRAIN"))


def test_another_model_of_the_same_names_is_seen(watched):
    """As in each fold of a cross-validation."""
    with watched(budget=1e-6) as seen:
        for _ in range(2):
            learn(steps=60)

    assert 100 < len(seen.trial.tensor("loss/cross_entropy").steps("TRAIN"))


def test_a_loss_without_gradients_is_an_evaluation(watched):
    with watched() as seen:
        learn(evaluates=True)

    losses = seen.trial.tensor("loss/cross_entropy")
    assert (12, 12) == (len(losses.steps("TRAIN")), len(losses.steps("EVAL")))


@pytest.mark.parametrize(
    ("how", "forgets"), [("in place", True), ("in place", False), ("anew", False)]
)
def test_gradients_that_are_not_set_to_zero_are_found(watched, how, forgets):
    with watched() as seen:
        learn(how, steps=20, forgets=forgets)

    found = [one.condition.split()[0] for one in watch(seen.trial, ["untrained_parameter"])]
    assert ["zero_grad"] * forgets == found


@pytest.mark.parametrize("is_first", [True, False])
def test_bare_tensors_before_or_after_a_module_are_another_model(watched, is_first):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def train():
        for _ in range(12):
            optimizer.zero_grad()
            F.cross_entropy(model(X), Y).backward()
            optimizer.step()

    with watched() as seen:
        (train if is_first else learn)()
        (learn if is_first else train)()

    assert [] == list(watch(seen.trial, ["untrained_parameter"]))
    assert {"weight", "bias"} <= {
        name.rpartition(".")[2] for name in seen.trial.tensor_names(collection="weights")
    }


def test_an_input_that_is_changed_by_a_gradient_is_no_model(watched):
    """As of an attack on a model that is only asked."""
    model = nn.Linear(4, 2).eval()
    given = X.clone().requires_grad_()
    with watched() as seen:
        for _ in range(3):
            (gradient,) = torch.autograd.grad(F.cross_entropy(model(given), Y), given)
            given = (given + 0.1 * gradient.sign()).detach().requires_grad_()

    assert "given" not in seen.trial.tensor_names(collection="weights")
