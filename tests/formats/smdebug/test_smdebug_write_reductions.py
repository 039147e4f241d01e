"""Reductions follow from statistics, and are what torch computes from the elements."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stepwatch.formats.smdebug.collections import NEED_VALUES, REDUCTIONS, Reduction, Stored
from stepwatch.formats.smdebug.layout import event_key, index_key
from stepwatch.formats.smdebug.reductions import from_values, reductions
from stepwatch.numerics.statistics import COUNT, summarize
from stepwatch.store.memory import MemoryStore
from stepwatch_smdebug.format.writer import SmdebugWriter
from tests.support.formats.smdebug.smdebug_steps import index, step_of, tensors

ALL = tuple(Reduction(name, of_abs) for of_abs in (False, True) for name in REDUCTIONS)
ELEMENTS = st.floats(-1e3, 1e3) | st.sampled_from([np.nan, np.inf, -np.inf, 0.0])
VALUES = hnp.arrays(np.float64, st.integers(1, 9), elements=ELEMENTS)


def by_torch(array: np.ndarray, one: Reduction) -> float:
    """Return a reduction as smdebug's hook computes it."""
    tensor = torch.from_numpy(array)
    tensor = tensor.abs() if one.of_abs else tensor
    if one.name in ("l1", "l2"):
        return float(torch.norm(tensor, p=int(one.name[1])))
    return float(getattr(tensor, {"variance": "var"}.get(one.name, one.name))())


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
class TestReductions:
    @given(VALUES)
    def test_they_are_those_of_torch(self, array):
        """Finite or not, each reduction of any elements is torch's."""
        found = reductions(summarize(array)[None], ALL)[0]
        found = [
            from_values(array, one) if one.name in NEED_VALUES else value
            for one, value in zip(ALL, found, strict=True)
        ]
        expected = [by_torch(array, one) for one in ALL]

        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-3, equal_nan=True)

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_what_is_not_finite_in_one_tensor_leaves_the_others_alone(self, bad):
        """A row is corrected by itself."""
        rows = np.stack([summarize(np.array([1.0, bad])), summarize(np.array([1.0, 2.0]))])

        assert [2.0, 3.0] == reductions(rows, [Reduction("max"), Reduction("sum")])[1].tolist()


def write_one(store, record, **arguments):
    writer = SmdebugWriter(store, "worker_0", **arguments)
    writer.write(record)
    writer.flush()


def written(record, **arguments):
    """Return the tensors of one step that was written to a store of its own."""
    store = MemoryStore("memory://written-reductions")
    write_one(store, record, **arguments)
    return tensors(store, event_key(record.step, "worker_0"))


class TestSelected:
    @pytest.mark.parametrize(
        ("given_dtype", "stored"),
        [
            ("float32", "float32"),
            ("float64", "float64"),
            ("float16", "float16"),
            ("bfloat16", "float32"),
            ("float8_e5m2", "float32"),
            ("int64", "float64"),
            ("bool", "float64"),
        ],
    )
    def test_they_have_the_dtype_of_their_tensor(self, given_dtype, stored):
        """Of whole numbers they are float64, since a mean is none."""
        array = np.array([0, 1, 1, 1]).astype(np.dtype(given_dtype))
        asked = Stored(reductions=(Reduction("mean"),))
        found = written(step_of({"w": array}, raw=False), stored_at=lambda *_: asked)
        mean = found["smdebug/reductions/mean/w"]

        assert (stored, (), 0.75) == (str(mean.dtype), mean.shape, mean)

    def test_they_keep_the_order_that_was_asked_for(self):
        """Before the value; ``:0`` is left out of their names and stays in that of the value."""
        asked = Stored(raw=True, reductions=(Reduction("l2"), Reduction("min", of_abs=True)))
        found = written(step_of({"k:0": np.ones(3)}), stored_at=lambda *_: asked)

        assert ["smdebug/reductions/l2/k", "smdebug/reductions/abs_min/k", "k:0"] == list(found)

    def test_product_and_median_come_from_the_values(self):
        """They do not follow from statistics."""
        asked = Stored(reductions=(Reduction("prod"), Reduction("median")))
        record = step_of({"w": np.array([4.0, 2.0, 3.0])})
        found = written(record, stored_at=lambda *_: asked)

        assert [24.0, 3.0] == [float(value) for value in found.values()]

    def test_product_without_values_is_left_out(self):
        """What cannot be known is not stored as nan."""
        asked = Stored(reductions=(Reduction("prod"), Reduction("sum")))
        found = written(step_of({"w": np.ones(3)}, raw=False), stored_at=lambda *_: asked)

        assert ["smdebug/reductions/sum/w"] == list(found)

    def test_a_sum_beyond_the_dtype_is_infinite(self):
        """As in torch, and without a warning."""
        asked = Stored(reductions=(Reduction("sum"),))
        array = np.full(100, 60_000, np.float16)
        found = written(step_of({"w": array}, raw=False), stored_at=lambda *_: asked)

        assert np.inf == float(found["smdebug/reductions/sum/w"])


class TestUnselected:
    def test_all_that_follows_is_stored(self):
        """Everything that statistics say, as float64, and the shape."""
        store = MemoryStore("memory://unselected")
        write_one(store, step_of({"w": np.float32([1, 3])}, raw=False))
        found = tensors(store, event_key(0, "worker_0"))
        names = "min,max,mean,std,variance,sum,l1,l2,abs_min,abs_max,abs_mean"

        assert names == ",".join(name.split("/")[2] for name in found)
        assert {np.dtype(np.float64)} == {value.dtype for value in found.values()}
        assert [2] == index(store, index_key(0, "worker_0"))["shape_payload"][0]["shape"]

    @pytest.mark.parametrize("value", [2.5, np.nan, np.inf, -np.inf])
    def test_a_scalar_is_its_value(self, value):
        """Its statistics are the value, in its dtype; reductions would say no more."""
        found = written(step_of({"loss": np.array(value, np.float32)}, raw=False))

        np.testing.assert_equal({"loss": np.array(value, np.float32)}, found)
        assert np.float32 == found["loss"].dtype

    def test_a_scalar_seen_twice_is_the_mean_in_float64(self):
        """As when it is read from our own format."""
        record = step_of({"loss": np.float32(1).reshape(())}, raw=False)
        record.statistics[0] = summarize(np.array([1.0, 2.0]))
        found = written(record)["loss"]

        assert (np.float64, 1.5) == (found.dtype, found)

    def test_what_is_not_known_is_left_out(self):
        """Without the number of elements there is a sum and no mean."""
        record = step_of({"w": np.ones(3)}, raw=False)
        record.statistics[0, COUNT] = np.nan
        names = ",".join(name.split("/")[2] for name in written(record))

        assert names == "min,max,sum,l1,l2,abs_min,abs_max"
