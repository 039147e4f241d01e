"""Which data a loader draws from is told by the object, not by an address it may share."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, TensorDataset

from stepwatch.hooks.torch.replay.rows import DrawnRows


def new_sources(data_sets, rows):
    """Evaluate each data set by a loader of its own; return which new source each is."""
    numbers = []
    for data in data_sets:
        iterator = iter(DataLoader(data, 2))
        next(iterator)
        rows.drawn(iterator, 0)
        numbers.append(rows.new_source(torch.zeros(2), 0))
    return numbers


def test_each_data_set_is_another_source_also_where_one_gets_the_id_of_one_that_is_gone():
    rows = DrawnRows()
    made_anew = (TensorDataset(torch.zeros(4)) for _ in range(4))

    assert [1, 2, 3, 4] == new_sources(made_anew, rows)


def test_a_data_set_evaluated_again_is_the_same_source():
    one, other = TensorDataset(torch.zeros(4)), [*range(4)]

    assert [1, 2, 0, 0] == new_sources([one, other, one, other], DrawnRows())


def test_no_more_than_sixteen_sources_are_told_apart():
    kept = [TensorDataset(torch.zeros(4)) for _ in range(18)]

    assert [*range(1, 17), 0, 0] == new_sources(kept, DrawnRows())
