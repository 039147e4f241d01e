"""Trainings whose loss does not depend on the weights, or cannot, and the same done right."""

from __future__ import annotations

from copy import deepcopy
from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.rules.scenarios import Scenario


def fits(head=None, loss=F.mse_loss, target=None, rate=1e-2, optimized=None, features=4, steps=30):
    """Fit a small network.

    Args:
        head: Made what the last layer gives to what the loss is given, and after which bias.
        loss: Takes predictions and targets.
        target: Makes the targets of a batch.
        rate: The learning rate.
        optimized: Chooses, of the model and of another, what the optimizer holds.
        features: How many there are.
        steps: How many optimizer steps.
    """
    torch.manual_seed(0)
    layers = [nn.Linear(features, 16), nn.Tanh(), nn.Linear(16, 1), *([head] if head else [])]
    model, other = nn.Sequential(*layers), nn.Linear(features, 1)
    held = optimized(model, other) if optimized else model.parameters()
    optimizer = torch.optim.SGD(held, lr=rate)
    inputs = torch.randn(256, features)
    targets = target(inputs) if target else inputs.mean(1, keepdim=True)
    for step in range(steps):
        at = torch.arange(step * 32, (step + 1) * 32) % len(inputs)
        optimizer.zero_grad()
        loss(model(inputs[at]), targets[at]).backward()
        optimizer.step()


def shifted(by):
    """Return a ReLU behind which nothing is left of what lies below ``by``."""
    return nn.Sequential(nn.Threshold(by, 0.0), nn.ReLU())


def is_positive(inputs):
    return (inputs.mean(1, keepdim=True) > 0).float()


def far(inputs):
    return 30 * inputs.mean(1, keepdim=True) + 100


def centred(inputs):
    return 4 * inputs.mean(1, keepdim=True)


def partly_unknown(inputs):
    return inputs.mean(1, keepdim=True).masked_fill(inputs[:, :1] > 2, torch.nan)


def clamped(prediction, target):
    return F.mse_loss(prediction, target).clamp(max=1.0)


def of_classes(prediction, target):
    return F.cross_entropy(prediction, torch.zeros(len(target), dtype=torch.int64))


def hinged(prediction, target):
    return F.relu(0.1 - prediction.mean() + 0 * target.sum())


def over_none(prediction, target):
    return F.mse_loss(prediction[target > 1e6], target[target > 1e6])


def over_ignored(prediction, target):
    logits = torch.cat([prediction, -prediction], 1)
    return F.cross_entropy(logits, torch.full((len(target),), -100))


def over_time(prediction, target):
    return F.mse_loss(prediction.expand(-1, 5), target)


def of_the_other(_, other):
    return other.parameters()


def frozen_body(model, _):
    for parameter in model[0].parameters():
        parameter.requires_grad = False
    return model[0].parameters()


class InAList(nn.Module):
    """Layers that the model does not know."""

    def __init__(self):
        super().__init__()
        self.hidden, self.head = [nn.Linear(4, 16), nn.Linear(16, 16)], nn.Linear(16, 1)

    def forward(self, inputs):
        for layer in self.hidden:
            inputs = torch.tanh(layer(inputs))
        return self.head(inputs)


def in_a_list(steps=30):
    torch.manual_seed(0)
    model = InAList()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        inputs = torch.randn(32, 4)
        optimizer.zero_grad()
        F.mse_loss(model(inputs), inputs.mean(1, keepdim=True)).backward()
        optimizer.step()


def last_layer(model, _):
    return model[2].parameters()


def zeroed(*, between, steps=30):
    """Set gradients to zero, perhaps between the backward pass and the step."""
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        inputs = torch.randn(32, 4)
        if not between:
            optimizer.zero_grad()
        F.mse_loss(model(inputs), inputs.mean(1, keepdim=True)).backward()
        if between:
            optimizer.zero_grad()
        optimizer.step()


def distilled(*, logarithms, steps=30):
    """Learn the probabilities of a teacher, by their logarithms or by what they are."""
    torch.manual_seed(0)
    model, teacher = nn.Linear(4, 3), nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        inputs = torch.randn(32, 4)
        guessed = model(inputs).softmax(1)
        with torch.no_grad():
            meant = teacher(inputs).softmax(1)
        optimizer.zero_grad()
        F.kl_div(guessed.log() if logarithms else guessed, meant, reduction="batchmean").backward()
        optimizer.step()


def counts(head=None, log_input=True, by=1.0, loss=F.poisson_nll_loss):
    """Fit counts.

    Args:
        head: Behind the last layer.
        log_input: What the loss takes the output for.
        by: How many there are.
        loss: Takes predictions, targets and ``log_input``.
    """
    fits(
        head,
        partial(loss, log_input=log_input),
        lambda inputs: torch.poisson(by * inputs.mean(1, keepdim=True).exp()),
        rate=1e-4,
    )


def of_module(prediction, target, *, log_input):
    return nn.PoissonNLLLoss(log_input=log_input)(prediction.squeeze(1), target.squeeze(1))


def beside_exposure(prediction, target, *, log_input):
    return F.poisson_nll_loss(prediction + torch.linspace(0.1, 2, 32)[:, None], target, log_input)


def above_zero(model, _):
    """Begin with log rates that are all above 0."""
    with torch.no_grad():
        model[2].bias += 5.0
    return model.parameters()


class Shifted(nn.Module):
    """Takes a threshold off what a ReLU leaves."""

    def forward(self, inputs):
        return torch.relu(inputs) - 0.5


class Epsilon(nn.Module):
    """Adds as much as keeps a number from 0."""

    def forward(self, inputs):
        return inputs + 1e-6


def second_task(*, before, trains_body=False, head_only=False, steps=15):
    """Train a model, freeze it, and train a new head that replaces the old one.

    Args:
        before: The optimizer is made before the head is replaced.
        trains_body: The first layer is trained on.
        head_only: The optimizer is given the head only, and the new one begins as a copy.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for task in range(2):
        if task:
            model.requires_grad_(False)
            model[0].requires_grad_(trains_body)
            held = list((model[2] if head_only else model).parameters())
            model[2] = deepcopy(model[2]) if head_only else nn.Linear(16, 1)
            model[2].requires_grad_(True)
            optimizer = torch.optim.SGD(held if before else model.parameters(), lr=0.1)
        for _ in range(steps):
            inputs = torch.randn(32, 4)
            optimizer.zero_grad()
            F.mse_loss(model(inputs), inputs.mean(1, keepdim=True)).backward()
            optimizer.step()


def fitted_input(steps=15):
    """Train a model, and then what it is given, through weights that are not frozen."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    given = torch.randn(32, 4)
    for trained in (model.parameters(), [given.requires_grad_()]):
        optimizer = torch.optim.SGD(list(trained), lr=0.1)
        for _ in range(steps):
            model.zero_grad()
            optimizer.zero_grad()
            F.mse_loss(model(given), torch.ones(32, 1)).backward()
            optimizer.step()


def far_too_large(model, _):
    """Begin with weights a million times as large."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 1e6
    return model.parameters()


def first_layer(model, _):
    return model[0].parameters()


of_logits = partial(fits, loss=F.binary_cross_entropy_with_logits, target=is_positive)
high_counts = partial(fits, loss=F.poisson_nll_loss, optimized=above_zero, rate=1e-6)
says_yes = partial(fits, nn.Sigmoid(), target=is_positive)
_BCE = F.binary_cross_entropy
CUT_OFF = [
    Scenario("zero_gradients", partial(fits, nn.Softmax(1), _BCE, is_positive), True),
    Scenario("zero_gradients", partial(fits, nn.Sigmoid(), _BCE, is_positive), False),
    Scenario("zero_gradients", partial(fits, None, clamped, far), True),
    Scenario("zero_gradients", partial(fits, None, clamped), False),
    Scenario("zero_gradients", partial(fits, shifted(50.0), target=far), True),
    Scenario("zero_gradients", partial(says_yes, rate=1e6), True),
    Scenario("zero_gradients", partial(says_yes, optimized=far_too_large), True),
    Scenario("zero_gradients", says_yes, False),
    Scenario("zero_gradients", partial(fits, None, of_classes), True),
    Scenario("zero_gradients", partial(fits, None, hinged), False),
    Scenario("loss_input", partial(fits, None, of_classes), True),
    Scenario("loss_input", partial(fits, None, over_time), True),
    Scenario("loss_input", partial(fits, nn.Sigmoid(), target=far, steps=60, rate=1e-4), True),
    Scenario("loss_input", partial(fits, nn.Sigmoid(), target=centred, steps=120, rate=1.0), True),
    Scenario("loss_input", partial(fits, nn.ReLU(), target=centred, steps=120, rate=0.1), True),
    Scenario("loss_input", partial(fits, target=centred, steps=120, rate=0.1), False),
    Scenario("loss_input", partial(fits, nn.Sigmoid(), target=is_positive, steps=60), False),
    Scenario("loss_input", partial(fits, nn.ReLU(), target=is_positive, steps=60), False),
    Scenario("non_finite_origin", partial(fits, target=partly_unknown), True),
    Scenario("non_finite_origin", partial(fits, None, over_none), True),
    Scenario("non_finite_origin", partial(fits, None, over_ignored), True),
    Scenario("step_size", partial(fits, target=far, rate=10.0), True),
    Scenario("untrained_parameter", partial(fits, optimized=of_the_other), True),
    Scenario("untrained_parameter", partial(fits, optimized=frozen_body), True),
    Scenario("untrained_parameter", partial(fits, optimized=last_layer), True),
    Scenario("untrained_parameter", partial(fits, optimized=first_layer), True),
    Scenario("untrained_parameter", in_a_list, True),
    Scenario("untrained_parameter", partial(second_task, before=True), True),
    Scenario("untrained_parameter", partial(second_task, before=False), False),
    Scenario("untrained_parameter", partial(second_task, before=True, trains_body=True), True),
    Scenario("untrained_parameter", partial(second_task, before=False, trains_body=True), False),
    Scenario("untrained_parameter", partial(second_task, before=True, head_only=True), True),
    Scenario("untrained_parameter", fitted_input, False),
    Scenario("untrained_parameter", partial(zeroed, between=True), True),
    Scenario("untrained_parameter", partial(zeroed, between=False), False),
    Scenario("loss_input", partial(distilled, logarithms=False), True),
    Scenario("loss_input", partial(distilled, logarithms=True), False),
    Scenario("loss_input", partial(counts, nn.Softplus()), True),
    Scenario("loss_input", partial(counts, nn.Sequential(nn.ReLU(), Epsilon())), True),
    Scenario("loss_input", partial(counts, nn.Softplus(), loss=of_module), True),
    Scenario("loss_input", partial(of_logits, nn.Sigmoid()), True),
    Scenario("loss_input", partial(of_logits, nn.ReLU(inplace=True)), True),
    Scenario("loss_input", partial(of_logits, nn.Softplus()), True),
    Scenario("loss_input", partial(of_logits, Shifted()), False),
    Scenario("loss_input", counts, False),
    Scenario("loss_input", partial(high_counts, target=far), False),
    Scenario("loss_input", partial(high_counts, target=is_positive), False),
    Scenario("loss_input", partial(counts, nn.Softplus(), log_input=False), False),
    Scenario("loss_input", partial(counts, nn.Softplus(), log_input=False, loss=of_module), False),
    Scenario("loss_input", partial(counts, nn.Softplus(), by=1000.0), False),
    Scenario("loss_input", partial(counts, nn.Softplus(), loss=beside_exposure), False),
    Scenario("loss_input", of_logits, False),
    Scenario("loss_input", partial(counts, log_input=False), True),
]  # fmt: skip
#: What each of those that are found is found to be, and how bad it is.
CAUSES = [
    "softmax_of_one", "cut_off", "constant_output", "overshot", "initialization", "one_class",
    "one_class", "repeated_target", "out_of_reach", "out_of_reach", "out_of_reach",
    "data", "no elements", "no elements", "diverged",
    "nothing_trained", "nothing_trained", "not_in_optimizer info", "not_in_optimizer",
    "not_in_optimizer", "nothing_trained", "not_in_optimizer", "nothing_trained", "zeroed",
    "not_log_probabilities", "rates", "rates", "rates", "probabilities",
    "never_negative", "never_negative", "below_zero",
]  # fmt: skip
