"""Tensors of all kinds: what is said of each, and what is named as missing."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.hooks.torch.captured_rows import assert_same, names_of, row_of, rows_of
from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd

pytestmark = pytest.mark.usefixtures("nothing_compiled")

TOKENS = torch.tensor([[1, 2, 2], [7, 2, 1]])
SPARSE = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "SparseAdam": lambda parameters: torch.optim.SparseAdam(list(parameters)),
}


def returning(output):
    """Return a model that trains, one part of which returns what this makes of the input."""

    class Part(nn.Module):
        def forward(self, x):
            return output(x)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.fc, self.part = nn.Linear(4, 1), Part()

        def forward(self, x):
            self.part(x)
            return self.fc(x)

    return Model()


class TestSparseGradients:
    @pytest.mark.parametrize("make", SPARSE.values(), ids=SPARSE)
    def test_statistics_are_over_all_elements(self, watched, make):
        """The zeros between those that are stored count, and indices given twice are added."""
        model = nn.Embedding(10, 4, sparse=True)
        optimizer = make(model.parameters())
        with watched() as seen:
            model(TOKENS).square().sum().backward()
            expected = model.weight.grad.to_dense()
            optimizer.step()

        assert_same({"gradient/weight": expected}, rows_of(seen)[0])
        assert ["capturing 1 of 1 parameters, 1 of 1 outputs"] == seen.said

    def test_the_full_value_is_dense(self, watched):
        """Every element in its place, as of any other gradient."""
        model = nn.Embedding(10, 4, sparse=True)
        with watched(policy=["gradients:raw:every=1"]) as seen:
            model(TOKENS).square().sum().backward()
            expected = model.weight.grad.to_dense()
            sgd(model).step()

        np.testing.assert_array_equal(
            expected.numpy(), seen.trial.tensor("gradient/weight").value(0)
        )

    def test_the_gradient_stays_as_it_is(self, watched):
        """To coalesce it is left to the optimizer."""
        model = nn.Embedding(10, 4, sparse=True)
        optimizer = sgd(model)
        with watched():
            model(TOKENS).sum().backward()
            optimizer.step()

        assert not model.weight.grad.is_coalesced()

    @pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
    @pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
    def test_compressed_layouts_say_the_same(self, watched, layout):
        """How a matrix is stored makes no difference to what is said of it."""
        dense = torch.eye(4) * torch.arange(4.0)
        block = {"blocksize": (2, 2)} if layout.startswith("b") else {}
        matrix = getattr(dense, f"to_sparse_{layout}")(**block)
        with watched() as seen:
            fit(returning(lambda x: matrix), steps=1)

        np.testing.assert_array_equal(row_of(dense), rows_of(seen)[0]["output/part"])


class TestComplexNumbers:
    @pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
    def test_statistics_are_of_the_magnitudes(self, watched, dtype):
        """Complex numbers have no order; weights, gradients and outputs alike."""
        torch.manual_seed(0)
        model = nn.Linear(4, 3, dtype=dtype)
        optimizer = sgd(model)
        with watched() as seen:
            output = model(X.to(dtype))
            output.abs().square().mean().backward()
            expected = {
                "weight": model.weight.abs().clone(),
                "gradient/weight": model.weight.grad.abs(),
                "output/Linear": output.abs(),
            }
            optimizer.step()

        assert_same(expected, rows_of(seen)[0])
        assert str(dtype) == f"torch.{seen.infos()['weight'].dtype}"
        assert ["capturing 2 of 2 parameters, 1 of 1 outputs"] == seen.said

    def test_the_full_value_is_complex(self, watched):
        """Magnitudes are of the statistics only."""
        with watched(policy=["outputs:raw:every=1"]) as seen:
            fit(returning(torch.fft.fft), steps=1)

        np.testing.assert_array_equal(
            torch.fft.fft(X).numpy(), seen.trial.tensor("output/part").value(0)
        )

    def test_a_conjugate_is_read_as_such(self, watched):
        """Torch keeps it as a note on the tensor until it is needed."""
        with watched(policy=["outputs:raw:every=1"]) as seen:
            fit(returning(lambda x: torch.fft.fft(x).conj()), steps=1)

        np.testing.assert_array_equal(
            torch.fft.fft(X).numpy().conj(), seen.trial.tensor("output/part").value(0)
        )

    def test_a_part_that_is_not_finite_makes_a_magnitude_that_is_not(self, watched):
        """It is counted once, however many of its parts are not finite."""
        values = torch.tensor([complex("nan"), complex(1, float("inf")), 3 + 4j, 0j])
        with watched() as seen:
            fit(returning(lambda x: values), steps=1)

        row = dict(zip(("count", "nan", "posinf", "neginf", "zeros", "min", "max"),
                       rows_of(seen)[0]["output/part"], strict=False))  # fmt: skip
        assert {
            "count": 4, "nan": 1, "posinf": 1, "neginf": 0, "zeros": 1, "min": 0, "max": 5,
        } == row  # fmt: skip


class TestOtherDtypes:
    @pytest.mark.parametrize(
        "dtype", [torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64], ids=str
    )
    def test_whole_numbers_and_truth_values_have_statistics(self, watched, dtype):
        """A mask, or the index of the largest."""
        values = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype)
        with watched() as seen:
            fit(returning(lambda x: values), steps=1)

        assert_same({"output/part": values}, rows_of(seen)[0])
        assert f"torch.{seen.infos()['output/part'].dtype}" == str(dtype)

    def test_a_subclass_that_only_adds_to_a_tensor_is_one(self, watched):
        """Images with a note of what they are, as data sets hand them out."""

        class Image(torch.Tensor):
            pass

        with watched() as seen:
            fit(returning(lambda x: x.as_subclass(Image)), steps=1)

        assert_same({"output/part": X}, rows_of(seen)[0])


@dataclasses.dataclass
class Answer:
    logits: torch.Tensor
    extra: object = None
    later: torch.Tensor = dataclasses.field(init=False)


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


STRUCTURES = {
    "mapping": (lambda x: {"logits": x, "hidden": [x * 2]}, {"/logits": 1, "/hidden/0": 2}),
    "dataclass": (lambda x: Answer(x, {"a": (x * 2,)}), {"/logits": 1, "/extra/a/0": 2}),
    "named tuple": (lambda x: Pair(x, x * 2), {"/0": 1, "/1": 2}),
    "with other things": (lambda x: (x, None, 3, "text", Answer), {"/0": 1}),
}


class TestStructures:
    @pytest.mark.parametrize("make", STRUCTURES.values(), ids=STRUCTURES)
    def test_every_tensor_of_an_output_has_its_path(self, watched, make):
        """And nothing else is taken for one."""
        output, factors = make
        with watched() as seen:
            fit(returning(output), steps=2)

        parts = {name for name in seen.infos() if name.startswith("output/part")}
        assert {f"output/part{path}" for path in factors} == parts
        expected = {f"output/part{path}": X * factor for path, factor in factors.items()}
        assert_same(expected, rows_of(seen)[0])
        assert ["capturing 2 of 2 parameters, 3 of 3 outputs"] == seen.said

    def test_inputs_by_keyword_are_captured_where_an_output_is_not_finite(self, watched):
        """By their keyword, beside those by place."""

        class Attend(nn.Module):
            def forward(self, x, *, mask, scale=1.0):
                return x / mask * scale

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.attend = nn.Linear(4, 1), Attend()

            def forward(self, x):
                return self.fc(self.attend(x, mask=torch.zeros(4)))

        with watched() as seen:
            fit(Model(), steps=1)

        inputs = ["input/Model/0", "input/attend/0", "input/attend/mask", "input/fc/0"]
        assert inputs == names_of(seen, "inputs")
        assert_same({"input/attend/0": X, "input/attend/mask": torch.zeros(4)}, rows_of(seen)[0])

    def test_a_module_that_raises_is_heard_without_a_word(self, watched, recwarn):
        """Torch tells of it in another way than of one that returns."""
        model = mlp()
        optimizer = sgd(model)
        with watched() as seen:
            with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
                model(input=torch.ones(2, 3))
            fit(model, optimizer, steps=1)

        assert [] == [str(one.message) for one in recwarn]
        assert ["capturing 4 of 4 parameters, 4 of 4 outputs"] == seen.said


MISSING = {
    "nested tensor": lambda x: torch.nested.nested_tensor([x[0], x[0, :2]]),
    "meta device": lambda x: torch.empty(3, device="meta"),
    "no tensor in what it returned": lambda x: 3,
    "bits8": lambda x: torch.zeros(2, dtype=torch.uint8).view(torch.bits8),
    "complex32": lambda x: torch.zeros(2, dtype=torch.complex32),
}


@pytest.mark.filterwarnings("ignore:.*prototype:UserWarning", "ignore:ComplexHalf:UserWarning")
class TestWhatIsMissing:
    @pytest.mark.parametrize("why", MISSING)
    def test_it_is_named_with_the_reason(self, watched, why):
        """Training goes on, and all else is captured."""
        with watched() as seen:
            fit(returning(MISSING[why]), steps=2)

        assert [f"capturing 2 of 2 parameters, 2 of 3 outputs ({why}: part)"] == seen.said
        assert {"TRAIN": 2} == seen.counts

    def test_a_module_inside_of_a_transform_is_named(self, watched):
        """What it sees are no tensors that one could read."""

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.part = nn.Linear(4, 1), nn.Tanh()

            def forward(self, x):
                return self.fc(torch.func.vmap(self.part)(x))

        with watched() as seen:
            fit(Model(), steps=2)

        why = "inside a torch.func transform"
        assert [f"capturing 2 of 2 parameters, 2 of 3 outputs ({why}: part)"] == seen.said

    def test_a_module_is_named_if_one_of_its_outputs_is_missing(self, watched):
        """The other one is captured all the same."""
        with watched() as seen:
            fit(returning(lambda x: (x, torch.empty(3, device="meta"))), steps=2)

        assert ["capturing 2 of 2 parameters, 2 of 3 outputs (meta device: part)"] == seen.said
        assert_same({"output/part/0": X}, rows_of(seen)[0])

    def test_a_parameter_without_values_ends_no_capturing(self, watched):
        """Keras leaves such in a model of the torch backend, and optimizers are given them."""
        model = returning(lambda x: x)
        model.left = torch.nn.Parameter(torch.empty(3, device="meta"))
        with watched() as seen:
            fit(model, steps=2)

        assert ["capturing 2 of 3 parameters (meta device: left), 3 of 3 outputs"] == seen.said
        assert 2 == len(rows_of(seen))

    def test_a_loss_is_still_a_loss_beside_it(self, watched):
        """What cannot be read has no say in when steps end."""
        with watched() as seen:
            losses = fit(returning(MISSING["nested tensor"]), loss=F.mse_loss)

        assert losses == pytest.approx(seen.series("loss/mse_loss"))
        assert Y.shape == (16, 1)
