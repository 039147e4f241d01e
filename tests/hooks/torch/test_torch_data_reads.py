"""Data sets of PyTorch that are changed by reading them, as their loaders do."""

from __future__ import annotations

import runpy

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, random_split

from stepwatch.hooks.data_reads import DataReads


class Noisy(Dataset):
    def __init__(self, *, in_place):
        self.values, self.in_place = torch.zeros(12, 3), in_place

    def __len__(self):
        return len(self.values)

    def __getitem__(self, row):
        value = self.values[row]
        noise = torch.ones(3)
        return value.add_(noise) if self.in_place else value + noise


@pytest.fixture
def reads():
    watching = DataReads()
    watching.begin()
    yield watching
    watching.end()


def go_through(data, *, times, **options):
    for _ in range(times):
        for _ in DataLoader(data, 4, **options):
            pass


def found(reads):
    return [info.name for info, _ in reads.found()]


@pytest.mark.parametrize("is_part", [False, True])
def test_one_that_adds_noise_in_place_is_found(reads, is_part):
    data = Noisy(in_place=True)
    go_through(random_split(data, [8, 4])[0] if is_part else data, times=3, shuffle=True)

    assert ["evaluation/changed_by_reading/Noisy.values"] == found(reads)


def test_one_that_gives_a_new_tensor_is_not(reads):
    go_through(Noisy(in_place=False), times=6, shuffle=True)

    assert [] == found(reads)


def test_one_that_is_read_by_other_processes_stays_as_it_is(reads):
    """They have a copy of it, made anew for each pass."""
    go_through(Noisy(in_place=True), times=3, num_workers=1)

    assert [] == found(reads)


def test_nothing_is_watched_after_the_end(reads):
    reads.end()
    go_through(Noisy(in_place=True), times=4)

    assert [] == found(reads)


READS = """
import torch
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.zeros(12, 3), torch.zeros(12)), 4, shuffle={shuffle})
batches = [x.sum(1) for x, _ in loader]
rows = torch.cat(batches)
rates = [0.1] * len(loader)
for i, (x, y) in enumerate(loader):
    {used}
"""


@pytest.mark.parametrize(
    ("used", "shuffle", "name"),
    [
        ("x.sum(1) - batches[i]", True, "batches"),
        ("x.sum(1) - rows[i * 4 : (i + 1) * 4]", True, "rows"),
        ("x.sum(1) - batches[i]", False, None),
        ("rates[i] * x", True, None),
        ("batches[i] = x.sum(1)", True, None),
        ("rows[:4] - x.sum(1)", True, None),
    ],
)
def test_values_of_samples_that_are_read_by_the_number_of_a_batch_are_found(
    reads, tmp_path, used, shuffle, name
):
    script = tmp_path / "script.py"
    script.write_text(READS.format(used=used, shuffle=shuffle))
    runpy.run_path(str(script))

    assert ([] if name is None else [f"evaluation/other_order/{name}"]) == found(reads)
