"""Trainings that make one step of several texts, so that each target counts alike, or does not."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.rules.scenarios import Scenario
from tests.support.rules.supervision_programs import Tagger, tokens

UNEVEN, EVEN = (4, 40, 8, 60), (30, 33, 36, 31)


def mean_of_means(logits, targets, parts, total):
    return F.cross_entropy(logits, targets) / parts


def mean_by_module(logits, targets, parts, total):
    return nn.CrossEntropyLoss()(logits, targets) / parts


def own_mean(logits, targets, parts, total):
    return F.cross_entropy(logits, targets, reduction="sum") / len(targets) / parts


def sum_over_all(logits, targets, parts, total):
    return F.cross_entropy(logits, targets, reduction="sum") / total


def weighted_means(logits, targets, parts, total):
    return F.cross_entropy(logits, targets) * (targets != -100).sum() / total


def of_texts(put, lengths=UNEVEN, *, padded=False, steps=60):
    """A language model; each micro-batch is one text, of another length.

    Args:
        put: Returns what is differentiated, of logits, targets, the number of micro-batches and
            that of all targets.
        lengths: Of the texts of each step.
        padded: All texts are as long as the longest, and what is padded is ignored.
    """
    torch.manual_seed(0)
    model = Tagger()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for step in range(steps):
        optimizer.zero_grad()
        for number in range(len(lengths)):
            length = lengths[(number + step) % len(lengths)]
            text = tokens(1, (max(lengths) if padded else length) + 1)
            targets = text[:, 1:].clone()
            targets[:, length:] = -100
            logits = model(text[:, :-1])
            put(logits.flatten(0, 1), targets.flatten(), len(lengths), sum(lengths)).backward()
        optimizer.step()


_RULE = "grad_accumulation_scale"

TOKENS = {
    "means of texts": Scenario(_RULE, partial(of_texts, mean_of_means), True),
    "means of padded texts": Scenario(_RULE, partial(of_texts, mean_of_means, padded=True), True),
    "means by a module": Scenario(_RULE, partial(of_texts, mean_by_module), True),
    "sums over the own number": Scenario(_RULE, partial(of_texts, own_mean), True),
    "one mean over all": Scenario(_RULE, partial(of_texts, sum_over_all), False),
    "weighted means": Scenario(_RULE, partial(of_texts, weighted_means, padded=True), False),
    "texts about as long": Scenario(_RULE, partial(of_texts, mean_of_means, EVEN), False),
    "one text a step": Scenario(_RULE, partial(of_texts, mean_of_means, (9,)), False),
}
