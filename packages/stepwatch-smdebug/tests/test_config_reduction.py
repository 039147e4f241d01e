"""What to save of a tensor: smdebug's ReductionConfig."""

from __future__ import annotations

import pytest

from smdebug import ReductionConfig
from smdebug.exceptions import SMDebugValueError
from stepwatch.formats.smdebug.collections import Reduction, Stored

FULL = ReductionConfig(
    reductions=["min", "max"],
    abs_reductions=["mean"],
    norms=["l1"],
    abs_norms=["l2"],
    save_shape=True,
)


class TestReductionConfig:
    def test_its_json_is_that_of_a_collections_file(self):
        """Reductions, norms, those of magnitudes, norms of magnitudes."""
        assert {
            "save_raw_tensor": False,
            "reductions": "min,max,l1_norm,abs_mean,abs_l2_norm",
            "save_shape": True,
        } == FULL.to_json_dict()

    def test_json_and_back(self):
        """What is written is read as the same."""
        assert FULL == ReductionConfig.from_json(FULL.to_json())

    def test_stepwatchs_words_and_back(self):
        """In the order of storing."""
        names = ("min", "max", "l1_norm", "abs_mean", "abs_l2_norm")
        stored = Stored(False, tuple(map(Reduction.parse, names)), True)

        assert (stored, FULL) == (FULL.to_stored(), ReductionConfig.from_stored(stored))

    def test_norms_may_stand_among_the_reductions_under_either_name(self):
        """As the old docs show them."""
        config = ReductionConfig(reductions=["median", "l1", "l2_norm"], abs_norms=["l1_norm"])

        assert "median,l1_norm,l2_norm,abs_l1_norm" == config.to_json_dict()["reductions"]

    @pytest.mark.parametrize("value", ["mean, abs_l1", ["mean", "abs_l1_norm"]])
    def test_a_dict_may_hold_a_list_or_a_text_and_flags_as_texts(self, value):
        """As SageMaker passes them, and as one writes them."""
        params = {"reductions": value, "save_raw_tensor": "True"}

        assert ReductionConfig(["mean"], abs_norms=["l1"], save_raw_tensor=True) == (
            ReductionConfig.from_dict(params)
        )

    @pytest.mark.parametrize(
        "wrong",
        [
            {"reductions": ["maen"]},
            {"reductions": "mean"},
            {"abs_reductions": ["abs_mean"]},
            {"norms": ["l3"]},
            {"norms": ["mean"]},
            {"abs_norms": "l1"},
            {"save_raw_tensor": "true"},
            {"save_shape": 1},
        ],
        ids=str,
    )
    def test_wrong_values_cannot_be_built(self, wrong):
        """The message names the argument."""
        with pytest.raises(SMDebugValueError, match=next(iter(wrong))):
            ReductionConfig(**wrong)

    def test_nothing_is_nothing(self):
        """No dict gives no configuration, an empty one saves nothing."""
        assert (None, Stored()) == (
            ReductionConfig.from_dict(None),
            ReductionConfig.from_dict({}).to_stored(),
        )

    def test_a_wrong_change_is_told_when_it_is_used(self):
        """Lists can be changed in place."""
        config = ReductionConfig()
        config.reductions.append("avg")

        with pytest.raises(SMDebugValueError, match="no reduction 'avg'"):
            config.to_stored()
