"""Tensors that lie here are read many at a time, and as they are read one by one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from stepwatch.diff.align import TIMES
from stepwatch.hooks.torch import TorchHook, observe
from stepwatch.hooks.torch.tensors import read_tensors, to_numpy
from stepwatch.numerics.statistics import NUM_FIELDS, has_kernel, summarize

needs_kernel = pytest.mark.skipif(
    not has_kernel() or not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"),
    reason="no tensor is read so",
)
READABLE = {
    "float32": torch.randn(33, 7),
    "float64": torch.randn(5).double(),
    "bfloat16": torch.randn(9).bfloat16(),
    "float16": torch.randn(3, 5).half(),
    "int64": torch.randint(-9, 9, (32_768,)),
    "one number": torch.tensor(-0.0),
    "empty": torch.empty(0, 3),
    "transposed": torch.randn(5, 7).t(),
    "channels last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "large": torch.randn(300_001),
    "not finite": torch.tensor([float("nan"), 1, float("inf"), -float("inf")]),
    "parameter": nn.Parameter(torch.randn(4)),
    "of a graph": nn.Parameter(torch.randn(4)) * 2,
}


class Subclass(torch.Tensor):
    """Adds nothing."""


UNREADABLE = {
    "with gaps": torch.randn(10)[::2],
    "expanded": torch.randn(3, 1).expand(3, 4),
    "many integers": torch.randint(0, 9, (32_769,)),
    "transposed integers": torch.randint(0, 9, (4, 5)).t(),
    "int32": torch.zeros(3, dtype=torch.int32),
    "bool": torch.tensor([True]),
    "complex": torch.zeros(3, dtype=torch.complex64),
    "negated": torch.randn(3, dtype=torch.complex64).conj().imag,
    "zero without memory": torch._efficientzerotensor((3,)),
    "sparse": torch.randn(3).to_sparse(),
    "meta": torch.empty(3, device="meta"),
    "nested": torch.nested.nested_tensor([torch.randn(2), torch.randn(3)]),
    "float8": torch.zeros(3, dtype=torch.float8_e5m2),
    "subclass": torch.randn(3).as_subclass(Subclass),
    "no tensor": 3,
}


@needs_kernel
class TestReadTensors:
    @pytest.mark.parametrize("kind", READABLE)
    def test_statistics_are_those_of_the_array(self, kind):
        """The same bits, whichever way they are computed."""
        found = np.zeros((2, NUM_FIELDS))

        assert 1 == read_tensors((READABLE[kind],), found.__array_struct__, 1)
        assert summarize(to_numpy(READABLE[kind])).tobytes() == found[1].tobytes()
        assert not found[0].any()

    @pytest.mark.parametrize("kind", UNREADABLE)
    def test_others_are_left_to_who_can_read_them(self, kind):
        """It stops there, and raises nothing."""
        found = np.zeros((3, NUM_FIELDS))

        assert 1 == read_tensors(
            (torch.ones(3), UNREADABLE[kind], torch.ones(3)), found.__array_struct__, 0
        )
        assert not found[2].any()

    def test_what_a_transform_is_given_is_left(self):
        """Inside of vmap a tensor has no values of its own."""
        found = []

        def note(value):
            found.append(read_tensors((value,), np.zeros((1, NUM_FIELDS)).__array_struct__, 0))
            return value

        torch.vmap(note)(torch.randn(3, 3))
        assert [0] == found

    @pytest.mark.parametrize("first", [-1, 1, 2])
    def test_rows_that_are_not_there_are_not_written(self, first):
        """An error in place of memory that belongs to others."""
        with pytest.raises(ValueError, match="room for 2 of them"):
            read_tensors(
                (torch.ones(3), torch.ones(3)), np.zeros((2, NUM_FIELDS)).__array_struct__, first
            )


class Kept:
    """Keeps the steps that it is shown."""

    def __init__(self):
        self.records = []

    def start(self, *_): ...

    def on_step(self, record):
        self.records.append(record)

    def finish(self): ...


class Net(nn.Module):
    """Shares a module, changes an output in place, and returns what it was given."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, 6)
        self.linear = nn.Linear(6, 6)
        self.relu = nn.ReLU(inplace=True)
        self.same = nn.Identity()
        self.low = nn.Linear(6, 6).bfloat16()
        self.unused = nn.Linear(2, 2)

    def forward(self, tokens):
        hidden = self.relu(self.linear(self.embedding(tokens)))
        hidden = self.linear(self.same(hidden)).transpose(0, 1)
        return self.same(self.low(hidden.bfloat16()).float())


def run_records(folder, policy=None):
    """Return what is recorded of a training."""
    torch.manual_seed(0)
    net, kept = Net(), Kept()
    optimizer = torch.optim.Adam(net.parameters())
    with TorchHook(run=folder, listeners=[kept], policy=policy, strict=True, say=lambda _: None):
        for step in range(13):
            if step == 6:
                net.embedding.weight.requires_grad_(False)
            optimizer.zero_grad(set_to_none=step % 2 == 0)
            for _ in range(1 + step % 3):
                output = net(torch.randint(0, 9, (4, 5)))
                nn.functional.cross_entropy(
                    output.flatten(0, 1), torch.randint(0, 6, (20,))
                ).backward()
            if step == 8:
                nn.utils.clip_grad_norm_(net.parameters(), 0.1)
            if step == 9:
                net.low.weight.data[0, 0] = float("nan")
            optimizer.step()
    return kept.records


class TestObserver:
    @pytest.mark.parametrize("policy", [None, ["outputs:digest", "gradients:raw:every=3"]])
    def test_records_are_those_of_tensors_read_one_by_one(self, policy, tmp_path, monkeypatch):
        """The same tensors in the same order, and the same bits of each."""
        together = run_records(tmp_path / "together", policy)
        monkeypatch.setattr(observe, "read_tensors", lambda *_: 0)
        alone = run_records(tmp_path / "alone", policy)

        assert 13 == len(together) == len(alone)
        for one, other in zip(together, alone, strict=True):
            assert one.layout.tensors == other.layout.tensors
            rows = [n for n, info in enumerate(one.layout.tensors) if info.name not in TIMES]
            assert one.statistics[rows].tobytes() == other.statistics[rows].tobytes()
            assert one.digests == other.digests
            assert one.raw.keys() == other.raw.keys()
            bits = [[raw.tobytes() for raw in each.raw.values()] for each in (one, other)]
            assert bits[0] == bits[1]
