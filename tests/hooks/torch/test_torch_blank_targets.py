"""Targets of a CTC loss that are of the class for the gaps between labels."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch.rules import watch


def fit(targets, lengths, *, by_module=True, **options):
    """Take some steps that learn two sequences of labels, of classes 0 to 4."""
    torch.manual_seed(0)
    model = nn.Linear(3, 5)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    criterion = nn.CTCLoss(**options) if by_module else lambda *args: F.ctc_loss(*args, **options)
    for _ in range(21):
        optimizer.zero_grad()
        scores = model(torch.randn(12, 2, 3)).log_softmax(-1)
        criterion(
            scores, torch.tensor(targets), torch.tensor([12, 12]), torch.tensor(lengths)
        ).backward()
        optimizer.step()


@pytest.mark.parametrize("by_module", [False, True])
@pytest.mark.parametrize(
    ("targets", "lengths", "options", "is_found"),
    [
        ([0, 1, 2, 3], [2, 2], {}, True),
        ([1, 2, 2, 3], [2, 2], {}, False),
        ([0, 1, 2, 3], [2, 2], {"blank": 4}, False),
        ([[1, 2, 0], [1, 2, 3]], [2, 3], {}, False),  # it is padded by 0
        ([[1, 0, 2], [1, 2, 3]], [3, 3], {}, True),
    ],
)
def test_targets_of_the_blank_class_are_found(
    watched, targets, lengths, options, is_found, by_module
):
    with watched() as seen:
        fit(targets, lengths, by_module=by_module, **options)

    assert ["blank_targets"] * is_found == [one.condition for one in watch(seen.trial, ["setup"])]
