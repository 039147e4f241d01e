"""Digests and exponents where a tensor is: the same as on the host."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from stepwatch.capture.open_step import OpenStep
from stepwatch.capture.plan import DIGEST, EXPONENTS, STATISTICS, Plan
from stepwatch.errors import TensorUnavailable
from stepwatch.hooks.torch import device, observe
from stepwatch.hooks.torch.device import DeviceRows, device_digest, device_exponents
from stepwatch.hooks.torch.tensors import to_numpy
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.digest import digest
from stepwatch.numerics.exponents import count_exponents
from stepwatch.numerics.statistics import summarize
from tests.support.hooks.torch.trainings import fit, inputs, mlp, sgd

FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
NARROW = [torch.float8_e4m3fn, torch.float8_e5m2]
WHOLE = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
DTYPES = [*FLOATS, *NARROW, *WHOLE]
VIEWS = {
    "as it is": lambda tensor: tensor,
    "transposed": lambda tensor: tensor.T,
    "with gaps": lambda tensor: tensor[1:, ::3],
    "one element": lambda tensor: tensor[0, 0],
    "nothing": lambda tensor: tensor[:0],
}


def tensor_of_bits(dtype):
    """Return a tensor of any bits, shape ``[5, 400]``: nans, infinities, subnormals and all."""
    generator = torch.Generator().manual_seed(0)
    size = torch.empty((), dtype=dtype).itemsize
    data = torch.randint(0, 256, (5, 400 * size), generator=generator, dtype=torch.uint8)
    return data > 100 if dtype is torch.bool else data.view(dtype)


@pytest.mark.filterwarnings("ignore:invalid value")  # signalling nans on their way to float64
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
class TestSameAsOnTheHost:
    def test_digest(self, dtype, view):
        """To the bit, in the order of indices."""
        tensor = view(tensor_of_bits(dtype))
        assert digest(to_numpy(tensor)) == int(device_digest(tensor)) % 2**64

    def test_exponents(self, dtype, view):
        """To the element."""
        tensor = view(tensor_of_bits(dtype))
        assert count_exponents(to_numpy(tensor)).tolist() == device_exponents(tensor).tolist()


class TestLargeTensors:
    def test_chunks_join_without_a_seam(self, monkeypatch):
        """The memory that is needed beside a tensor does not grow with it."""
        monkeypatch.setattr(device, "DIGEST_CHUNK", 64)
        tensor = tensor_of_bits(torch.float32)

        assert digest(tensor.numpy()) == int(device_digest(tensor)) % 2**64
        assert count_exponents(tensor.numpy()).tolist() == device_exponents(tensor).tolist()


class TestNegated:
    def test_a_tensor_that_is_negated_only_in_name_is_negated(self):
        """``.imag`` of a conjugate is such a one."""
        tensor = torch.view_as_complex(inputs(9, 2)).conj().imag
        assert tensor.is_neg()
        assert digest(to_numpy(tensor)) == int(device_digest(tensor)) % 2**64


class TestDeviceRows:
    def test_all_that_is_wanted_comes_in_one_transfer(self, monkeypatch):
        """Rows, digests and exponents of several tensors, each to its own place."""
        transfers = []
        to_host = torch.Tensor.cpu
        monkeypatch.setattr(
            torch.Tensor, "cpu", lambda tensor: (transfers.append(1), to_host(tensor))[1]
        )
        step = OpenStep(Plan(), Mode.TRAIN, 0)
        rows = DeviceRows(step)
        levels = [STATISTICS, STATISTICS | DIGEST, STATISTICS | EXPONENTS | DIGEST, EXPONENTS]
        tensors = [inputs(4, number + 1) for number in range(len(levels))]
        for number, (level, tensor) in enumerate(zip(levels, tensors, strict=True)):
            rows.observe(TensorInfo(f"t{number}", "weights", "float32", (4,)), tensor, level)
        rows.collect()

        arrays = [tensor.numpy() for tensor in tensors]
        assert {f"t{i}": digest(arrays[i]) for i in (1, 2)} == step.digests
        assert {f"t{i}": count_exponents(arrays[i]).tolist() for i in (2, 3)} == {
            name: counts.tolist() for name, counts in step.exponents.items()
        }
        for row, array in enumerate(arrays):
            np.testing.assert_allclose(step.statistics_of(row), summarize(array), rtol=1e-6)
        assert 1 == len(transfers)

    def test_repeated_observations_are_merged_as_on_the_host(self):
        """The last digest, all exponents."""
        step = OpenStep(Plan(), Mode.TRAIN, 0)
        rows = DeviceRows(step)
        info = TensorInfo("t", "weights", "float32", (4,))
        parts = [inputs(4), inputs(4, seed=2)]
        for part in parts:
            rows.observe(info, part, DIGEST | EXPONENTS)
        rows.collect()

        assert {"t": digest(parts[1].numpy())} == step.digests
        assert count_exponents(torch.cat(parts).numpy()).tolist() == step.exponents["t"].tolist()


class TestHook:
    @pytest.mark.parametrize("on_host", [True, False], ids=["host", "device"])
    def test_a_run_has_those_of_the_values_that_the_forward_used(
        self, watched, monkeypatch, on_host
    ):
        """At the steps they were asked for, wherever the tensors are."""
        monkeypatch.setattr(observe, "on_host", lambda tensor: on_host)
        model, digests, exponents = mlp(), [], []
        with watched(policy=["weights:digest", "/2.bias/:exponents:every=2"]) as one:
            optimizer = sgd(model)
            for _ in range(4):
                digests.append(digest(model[0].weight.detach().numpy()))
                exponents.append(count_exponents(model[2].bias.detach().numpy()).tolist())
                fit(model, optimizer, steps=1)
        weight, bias = (one.trial.tensor(name) for name in ("0.weight", "2.bias"))

        assert 4 == len(set(digests))
        assert dict(enumerate(digests)) == weight.digests("TRAIN")
        assert exponents[::2] == [bias.exponents(step, "TRAIN").tolist() for step in (0, 2)]
        with pytest.raises(TensorUnavailable):
            bias.exponents(1, "TRAIN")
        assert {} == one.trial.tensor("gradient/0.weight").digests()
