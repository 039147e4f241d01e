"""A loss that a script writes out is known as the function that it is."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch.hooks.torch.written_loss import outputs_in, written_loss
from tests.support.hooks.torch.trainings import Y, fit, inputs, mlp

X, TARGETS = inputs(16, 4), inputs(16, 1, seed=2)
LABELS = torch.arange(16) % 3
HALF = (TARGETS > 0).float()


def found(make, width=1, last=None):
    """Return what is known of the loss that ``make`` computes of an output."""
    torch.manual_seed(0)
    output = nn.Linear(4, width)(X)
    output = output if last is None else last(output)
    return written_loss(make(output), outputs_in(output)), output.detach()


@pytest.mark.parametrize(
    ("make", "reduction"),
    [
        (lambda o: ((o - TARGETS) ** 2).mean(), "mean"),
        (lambda o: torch.mean(torch.square(TARGETS - o)), "mean"),
        (lambda o: (o.squeeze(1) - TARGETS[:, 0]).pow(2).mean(), "mean"),
        (lambda o: (o.view(-1) - TARGETS[:, 0]).abs().mean(), "mean"),
        (lambda o: 0.5 * ((o - TARGETS) ** 2).mean(), "none"),
        (lambda o: ((o - TARGETS) ** 2).sum() / 16, "none"),
        (lambda o: ((o - TARGETS) ** 2).sum(1).mean(), "none"),
    ],
)
def test_a_difference_has_its_target(make, reduction):
    """To rounding, and with the shape in which both were compared."""
    call, output = found(make)

    assert call.function in ("mse_loss", "l1_loss")
    assert reduction == call.reduction
    assert torch.equal(output.reshape(-1), call.prediction.reshape(-1))
    torch.testing.assert_close(TARGETS.reshape(-1), call.target.reshape(-1))


@pytest.mark.parametrize(
    ("make", "name", "reduction"),
    [
        (lambda o: F.mse_loss(o, X[:, :3], reduction="none").mean(), "mse_loss", "mean"),
        (
            lambda o: F.huber_loss(o, X[:, :3], reduction="none").mean(1).mean(),
            "huber_loss",
            "mean",
        ),
        (lambda o: F.mse_loss(o, X[:, :3], reduction="none").sum(1).mean(), "mse_loss", "none"),
        (lambda o: F.cross_entropy(o, LABELS, reduction="none").mean(), "nll_loss", "mean"),
        (lambda o: (HALF * F.mse_loss(o, X[:, :3], reduction="none")).mean(), None, None),
        (lambda o: F.cross_entropy(o, LABELS - 1, reduction="none", ignore_index=-1).mean(),
         None, None),
    ],
    ids=["squares", "in two steps", "sums", "classes", "weights", "some left out"],
)  # fmt: skip
def test_a_loss_of_each_element_is_known_by_its_mean(make, name, reduction):
    call, output = found(make, width=3)

    assert (name, reduction) == (call and call.function, call and call.reduction)
    if name == "mse_loss":
        assert torch.equal(output, call.prediction)


@pytest.mark.parametrize(
    "make",
    [
        lambda o: -F.log_softmax(o, 1).gather(1, LABELS[:, None]).squeeze(1).mean(),
        lambda o: -F.log_softmax(o, 1)[torch.arange(16), LABELS].mean(),
        lambda o: -torch.log(F.softmax(o, 1)[range(16), LABELS]).mean(),
    ],
)
def test_a_cross_entropy_has_its_labels(make):
    call, output = found(make, width=3)

    assert ("nll_loss", "mean") == (call.function, call.reduction)
    torch.testing.assert_close(F.log_softmax(output, 1), call.prediction.detach())
    assert torch.equal(LABELS, call.target)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: -(HALF * torch.log(p) + (1 - HALF) * torch.log(1 - p)).mean(),
        lambda p: -torch.mean((1 - HALF) * (1 - p + 1e-9).log() + HALF * (p + 1e-9).log()),
        lambda p: -(p.clamp(1e-6).log() * HALF + (1 - HALF) * (1 - p).clamp(1e-6).log()).mean(),
    ],
)
def test_a_cross_entropy_of_two_classes_has_its_labels(make):
    call, output = found(make, last=torch.sigmoid)

    assert ("binary_cross_entropy", "mean") == (call.function, call.reduction)
    torch.testing.assert_close(output, call.prediction.detach())
    assert torch.equal(HALF, call.target)


@pytest.mark.parametrize(
    "make",
    [
        lambda o: ((o - TARGETS) ** 2).mean() + o.mean(),
        lambda o: ((o - TARGETS) ** 2 * X[:, :1]).mean(),
        lambda o: ((o - TARGETS[:, 0]) ** 2).mean(),
        lambda o: ((o[:8] - o[8:]) ** 2).mean(),
        lambda o: (o.flip(0) - TARGETS).abs().mean(),
        lambda o: -(F.log_softmax(o, 0).gather(1, LABELS[:, None] * 0) * X[:, :1]).mean(),
    ],
    ids=["several terms", "weighted", "broadcast", "pairs", "another order", "policy"],
)
def test_what_is_more_than_that_is_not_known(make):
    assert found(make)[0] is None


def test_what_it_is_given_is_observed(watched):
    """As of a function of torch."""
    with watched() as seen:
        losses = fit(mlp(), loss=lambda x, y: ((x - y) ** 2).mean(), steps=3)

    infos = seen.infos()
    assert losses == seen.series("loss/backward")
    assert "mse_loss" == infos["loss/backward"].function == infos["prediction/backward"].function
    assert pytest.approx(Y.mean().item(), rel=1e-5) == seen.series("label/backward")[0]


def test_of_a_model_that_is_never_trained_nothing_is_held():
    """Four outputs at most, without their graphs."""
    output = nn.Linear(4, 1)(X)
    (known,) = outputs_in({"prediction": output})

    assert known.value.grad_fn is None
    assert known.value.data_ptr() == output.data_ptr()
