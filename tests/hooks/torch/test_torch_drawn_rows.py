"""Which data a loader draws from is told by the object, not by an address it may share."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data import DataLoader, Subset, SubsetRandomSampler, TensorDataset

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


def test_parts_of_one_data_set_are_others_by_the_samplers_that_hold_their_rows():
    data, rows, numbers = TensorDataset(torch.zeros(8)), DrawnRows(), []
    for part in ([0, 1], [2, 3], [4, 5]):
        loader = DataLoader(data, 2, sampler=SubsetRandomSampler(part))
        iterator = iter(loader)
        next(iterator)
        rows.drawn(iterator, 0)
        numbers.append(rows.new_source(torch.zeros(2), 0))

    assert [1, 2, 3] == numbers


@pytest.mark.parametrize(("copied", "expected"), [(True, 0.5), (False, 0.0)])
def test_rows_drawn_with_replacement_before_a_split_are_shared(copied, expected):
    """As a rare class is repeated; rows that differ are shared by nobody."""
    make = torch.Generator().manual_seed(0)
    x, y = torch.randn(400, 3, generator=make), torch.zeros(400)
    y[:20] = 1
    if copied:
        rare = torch.randint(0, 20, (400,), generator=make)
        x, y = torch.cat([x[20:], x[rare]]), torch.cat([y[20:], y[rare]])
    order = torch.randperm(len(x), generator=make)
    data = TensorDataset(x[order], y[order])
    parts = Subset(data, range(300)), Subset(data, range(300, len(x)))
    rows = DrawnRows()
    for at, part in enumerate(parts):
        iterator = iter(DataLoader(part, 2))
        next(iterator)
        rows.drawn(iterator, at)
    rows.new_source(torch.zeros(2), 1)

    assert pytest.approx(expected, abs=0.1) == rows.shared
