"""How data sets are read, told without the packages that read them."""

from __future__ import annotations

import runpy
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from stepwatch.hooks.data_reads import DataReads, is_split_anew, reads_labels, shuffling


class Begun:
    """A data set that tells how the loop that begins to go through it uses it."""

    def __init__(self):
        self.answers = []

    def __iter__(self):
        self.answers.append(reads_labels(sys._getframe(1)))
        return iter([([1], 2), ([3], 4)])


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("found = [y for x, y in data]", True),
        ("found = list(y for _, y in data)", True),
        ("found = []\nfor x, y in data:\n    found.append(y)", True),
        ("found = [(x, y) for x, y in data]", False),
        ("found = [x for x, y in data]", False),
        ("found = []\nfor x, y in data:\n    found.append(len(x) + y)", False),
        ("found = [pair for pair in data]", False),
        ("found = list(data)", False),
        ("found = [y for x, y in data if x]", False),
    ],
)  # fmt: skip
def test_a_loop_is_over_labels_alone_if_it_uses_nothing_else(tmp_path, code, expected):
    script = tmp_path / "script.py"
    script.write_text(code)
    data = Begun()

    runpy.run_path(str(script), {"data": data})

    assert [expected] == data.answers


def stage(name, **has):
    return type(name, (), {"_input_dataset": None, **has})()


def shuffled(**has):
    return stage("_ShuffleDataset", **{"_reshuffle_each_iteration": True, **has})


def test_what_shuffles_is_found_below_what_was_made_of_it():
    shuffles = shuffled()
    batches = stage("_BatchDataset", _input_dataset=shuffles)
    labels = stage("_MapDataset", _input_dataset=batches)

    assert shuffling(batches) is shuffling(labels) is shuffles


@pytest.mark.parametrize(
    "data",
    [
        stage("_BatchDataset", _input_dataset=stage("_RangeDataset")),
        stage("_BatchDataset", _input_dataset=shuffled(_reshuffle_each_iteration=False)),
        stage("_CacheDataset", _input_dataset=shuffled()),
        SimpleNamespace(sampler=type("SequentialSampler", (), {})()),
        [1, 2, 3],
        None,
    ],
    ids=["in order", "shuffled once", "kept once shuffled", "loader in order", "list", "nothing"],
)  # fmt: skip
def test_what_comes_in_one_order_is_not_shuffled_anew(data):
    assert shuffling(data) is None


def test_a_loader_of_pytorch_shuffles_by_its_sampler():
    loader = SimpleNamespace(sampler=type("RandomSampler", (), {})())

    assert shuffling(loader) is loader


class Samples:
    """Gives samples of an array as they lie there, and changes them or not."""

    def __init__(self, change=lambda x: x, rows=8):
        self.x = np.arange(4.0 * rows, dtype=np.float32).reshape(rows, 4)
        self.pairs = [(x.copy(), number) for number, x in enumerate(self.x)]
        self.change = change

    def __len__(self):
        return len(self.x)

    def __getitem__(self, row):
        return self.change(self.x[row]), self.pairs[row][1]


def in_place(x):
    x *= 0.5
    x += 1
    return x


def names_found(reads):
    return [info.name for info, _ in reads.found()]


def passes(reads, data, num_passes, rows=(3, 1, 0)):
    for _ in range(num_passes):
        reads.comparing(data, rows, lambda: [data[row] for row in rows])


def test_data_that_are_changed_in_place_as_they_are_read_are_found_after_three_passes():
    reads, data = DataReads(), Samples(in_place)

    passes(reads, data, 2)
    assert [] == names_found(reads)
    passes(reads, data, 1)
    assert ["evaluation/changed_by_reading/Samples.x"] == names_found(reads)
    passes(reads, data, 4)
    assert [] == names_found(reads), "it is told once"


def test_data_behind_a_subset_are_looked_at():
    data = Samples(in_place)
    subset = stage("Subset", dataset=data, indices=[5, 6, 7])
    reads = DataReads()
    for _ in range(3):
        reads.comparing(subset, [0, 2], lambda: [data[5], data[7]])

    assert ["evaluation/changed_by_reading/Samples.x"] == names_found(reads)


def test_samples_in_a_list_are_looked_at():
    data = Samples()

    def read():
        for x, _ in data.pairs[:2]:
            x *= 0.5

    reads = DataReads()
    for _ in range(3):
        reads.comparing(data, [0, 1], read)

    assert ["evaluation/changed_by_reading/Samples.pairs"] == names_found(reads)


@pytest.mark.parametrize("change", [lambda x: x - x.mean(), lambda x: x])
def test_data_that_are_given_as_copies_stay_as_they_are(change):
    reads = DataReads()
    passes(reads, Samples(change), 6)

    assert [] == names_found(reads)


def test_a_cache_that_is_filled_in_the_first_pass_is_no_change():
    filled = set()

    def once(x):
        if x.ctypes.data not in filled:
            filled.add(x.ctypes.data)
            x /= 3
        return x

    reads = DataReads()
    passes(reads, Samples(once), 6)

    assert [] == names_found(reads)


def test_a_read_that_fails_fails_as_without_us():
    reads = DataReads()

    with pytest.raises(IndexError):
        reads.comparing(Samples(), [0], lambda: Samples()[99])


def part(name, of):
    return stage(f"_{name}Dataset", _input_dataset=of)


@pytest.mark.parametrize(
    ("trained", "validated", "shuffles", "expected"),
    [
        ("Skip", "Take", shuffled(), True),
        ("Shard", "Shard", shuffled(), True),
        ("Skip", "Take", shuffled(_reshuffle_each_iteration=False), False),
        ("Batch", "Batch", shuffled(), False),
        ("Skip", "Take", part("Batch", None), False),
    ],
)
def test_parts_of_what_each_pass_shuffles_anew_are_split_anew(
    trained, validated, shuffles, expected
):
    parts = [part("Batch", part(name, shuffles)) for name in (trained, validated)]

    assert expected == is_split_anew(*parts)


def test_a_part_that_is_shuffled_once_more_is_split_anew_all_the_same():
    whole = shuffled()
    trained = shuffled(_input_dataset=part("Skip", whole))

    assert is_split_anew(trained, part("Take", whole))


def test_a_part_that_is_shuffled_after_the_split_is_one_of_its_own():
    whole = part("Batch", None)
    trained = stage("_Shuffle", _input_dataset=part("Skip", whole), _reshuffle_each_iteration=True)

    assert not is_split_anew(trained, part("Take", whole))
