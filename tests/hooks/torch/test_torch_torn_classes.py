"""Scores of classes that were reshaped to rows before the axis of classes was moved last."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch.hooks.torch.torn_classes import torn_classes
from stepwatch.rules import Finding
from tests.support.rules.rule_runs import judge
from tests.support.rules.setup_programs import moved_focal, segments, torn_focal


def found(rows):
    labels = torch.zeros(len(rows), dtype=torch.int64)
    return [one.shape for one in torn_classes(F.cross_entropy(rows, labels))]


class TestTornClasses:
    def test_they_are_of_sequences_too(self):
        scores = nn.Conv1d(2, 5, 1)(torch.randn(4, 2, 7))

        assert [(4, 5, 7)] == found(scores.reshape(-1, 5))

    @pytest.mark.parametrize("arranged", [lambda one: one, lambda one: one.contiguous()])
    def test_moved_classes_are_whole(self, arranged):
        scores = nn.Conv1d(2, 5, 1)(torch.randn(4, 2, 7))

        assert [] == found(arranged(scores.transpose(1, 2)).reshape(-1, 5))

    def test_channels_of_a_convolution_are_second_though_the_width_is_a_multiple(self):
        """A linear layer may return several groups of classes, of as many positions."""
        scores = nn.Conv1d(2, 4, 1)(torch.randn(3, 2, 8))
        grouped = nn.Linear(2, 8)(torch.randn(3, 4, 2))

        assert [(3, 4, 8)] == found(scores.reshape(-1, 4))
        assert [] == found(grouped.reshape(-1, 4))

    def test_scores_that_were_resized_are_of_channels(self):
        scores = F.interpolate(nn.Conv2d(2, 4, 1)(torch.randn(3, 2, 4, 4)), scale_factor=2)

        assert [(3, 4, 8, 8)] == found(scores.reshape(-1, 4))

    def test_a_softmax_of_which_nothing_is_picked_is_of_no_classes(self):
        """As attention over neighbouring places is one."""
        scores = nn.Conv1d(2, 5, 1)(torch.randn(4, 2, 7))

        assert [] == [*torn_classes(scores.reshape(-1, 5).softmax(-1).square().mean())]

    def test_a_softmax_over_all_places_of_a_map_is_of_no_classes(self):
        scores = nn.Conv2d(2, 16, 1)(torch.randn(3, 2, 4, 4))

        assert [] == found(scores.reshape(-1, 16))


@pytest.mark.parametrize(("loss", "is_torn"), [(torn_focal, True), (moved_focal, False)])
def test_a_hand_written_loss_is_reported_with_the_shape_of_its_scores(loss, is_torn, tmp_path):
    found, _ = judge(partial(segments, loss), "setup", tmp_path / "run")
    messages = [Finding.from_json(one).message for one in found]

    assert [is_torn] * len(messages) == ["shape (batch, 3, 6, 6)" in one for one in messages]
    assert int(is_torn) == len(messages)
