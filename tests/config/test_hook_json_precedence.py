"""Whose word counts: a mode of a collection, the collection, a mode of the hook, the hook."""

from __future__ import annotations

import itertools

import pytest

from stepwatch.formats.smdebug.collections import RAW, Reduction, SaveSteps, Stored
from stepwatch.model.steps import Mode
from tests.support.config.hook_files import collection, entry, read, saved_steps

SOURCES = ("hook", "hook of mode", "collection", "collection of mode")
VALUES = {"save_interval": ("2", "3", "5", "7"), "start_step": ("2", "3", "5", "7")}
VALUES |= {"end_step": ("20", "30", "50", "70"), "save_steps": ("2", "3", "5", "7")}
FIELDS = {"save_interval": "interval", "start_step": "start", "end_step": "end"}
COMBINATIONS = [
    chosen for number in range(5) for chosen in itertools.combinations(range(4), number)
]
MEAN = Reduction("mean")


def settings(key, chosen, ranks):
    """Return the settings of those that speak, each with its own value."""
    names = {0: key, 1: f"eval.{key}"}
    return {names[rank % 2]: VALUES[key][rank] for rank in ranks if rank in chosen}


class TestSteps:
    @pytest.mark.parametrize("key", VALUES)
    @pytest.mark.parametrize("chosen", COMBINATIONS)
    def test_the_most_special_word_counts(self, tmp_path, key, chosen):
        """For every setting and every choice of who speaks: the last of them is heard."""
        own = settings(key, chosen, (2, 3)) | {"include_regex": "own"}
        config = read(
            tmp_path,
            settings(key, chosen, (0, 1)),
            [{"CollectionName": "own", "CollectionParameters": own}],
        )
        steps = collection(config, "own").steps[Mode.EVAL]
        said = int(VALUES[key][max(chosen)]) if chosen else None
        if key == "save_steps":
            assert steps.steps == (() if said is None else (said,))
            return
        default = getattr(SaveSteps(), FIELDS[key])
        assert getattr(steps, FIELDS[key]) == (default if said is None else said)

    def test_other_modes_have_the_general_word(self, tmp_path):
        """What is said of one mode is for that mode alone."""
        hook = {"save_interval": "10", "end_step": "100", "reductions": "mean"}
        own = {"include_regex": "x", "train.save_steps": "4,5"}
        config = read(tmp_path, hook, [{"CollectionName": "my", "CollectionParameters": own}])
        steps = collection(config, "my").steps

        assert {
            Mode.TRAIN: SaveSteps(10, 0, 100, (4, 5)),
            Mode.EVAL: SaveSteps(10, 0, 100),
            Mode.PREDICT: SaveSteps(10, 0, 100),
            Mode.GLOBAL: SaveSteps(10, 0, 100),
        } == steps

    def test_collections_that_are_not_configured_have_the_hooks_word(self, tmp_path):
        """Also those that the framework saves by itself."""
        assert [0, 3, 6] == saved_steps(read(tmp_path, {"save_interval": 3}), "losses", below=8)

    def test_an_end_of_null_takes_the_hooks_end_away(self, tmp_path):
        """Null is no end, not what is inherited."""
        config = read(
            tmp_path,
            {"end_step": 10, "save_interval": 5},
            [entry("weights", end_step=None)],
        )

        assert ([0, 5, 10, 15], [0, 5]) == (
            saved_steps(config, "weights", below=16),
            saved_steps(config, "losses", below=16),
        )

    def test_an_end_of_zero_switches_a_collection_off(self, tmp_path):
        """``end_step`` 0 leaves no window."""
        assert [] == saved_steps(read(tmp_path, {}, [entry("losses", end_step=0)]), "losses")

    def test_gradients_are_not_saved_while_nothing_is_trained(self, tmp_path):
        """In EVAL and PREDICT there are none."""
        config = read(tmp_path, {"save_interval": 1}, [entry("gradients")])

        assert ([0, 1], [], [], [0, 1]) == tuple(
            saved_steps(config, "gradients", mode, below=2) for mode in Mode
        )


class TestWhatIsStored:
    @pytest.mark.parametrize(
        ("hook", "own", "stored"),
        [
            ({}, {}, RAW),
            ({"reductions": "mean"}, {}, Stored(reductions=(MEAN,))),
            ({"reductions": ["mean"]}, {}, Stored(reductions=(MEAN,))),
            ({"reductions": "mean"}, {"reductions": "l2"}, Stored(reductions=(Reduction("l2"),))),
            (
                {"reductions": "mean", "save_raw_tensor": "True"},
                {"reductions": "l2_norm"},
                Stored(reductions=(Reduction("l2"),)),
            ),
            ({"reductions": "mean", "save_shape": True}, {}, Stored(False, (MEAN,), True)),
            ({"reductions": "mean"}, {"save_raw_tensor": "true"}, Stored(True, (MEAN,))),
            ({"reductions": "mean"}, {"save_shape": "true"}, Stored(False, (MEAN,), True)),
            ({}, {"save_shape": True}, Stored(True, (), True)),
            ({"save_shape": "True", "save_raw_tensor": False}, {}, Stored(False, (), True)),
            ({}, {"save_raw_tensor": "true"}, RAW),
        ],
    )
    def test_own_reductions_else_the_hooks_else_full_values(self, tmp_path, hook, own, stored):
        """Reductions replace all that is inherited; the two flags alone change it."""
        assert (
            stored == collection(read(tmp_path, hook, [entry("weights", **own)]), "weights").stored
        )

    def test_full_values_stay_if_nothing_would_be_saved(self, tmp_path, caplog):
        """To switch off the only thing that is saved is warned of, and not done."""
        config = read(tmp_path, {}, [entry("weights", save_raw_tensor="false")])

        assert (RAW, "collection 'weights': save_raw_tensor is off") == (
            collection(config, "weights").stored,
            caplog.records[0].getMessage().partition(" and")[0],
        )

    @pytest.mark.parametrize("name", ["losses", "metrics", "sm_metrics"])
    def test_scalars_are_saved_as_they_are(self, tmp_path, name):
        """There is nothing to reduce."""
        entries = [entry(name, reductions="mean", include_regex="x")]
        config = read(tmp_path, {"reductions": "max"}, entries)

        assert RAW == collection(config, name).stored

    def test_reductions_are_in_the_order_of_storing(self, tmp_path):
        """Plain ones, norms, those of magnitudes, norms of magnitudes."""
        config = read(
            tmp_path, {"reductions": "abs_l1_norm,abs_max,l2,min,max"}, [entry("weights")]
        )

        assert ["min", "max", "l2_norm", "abs_max", "abs_l1_norm"] == [
            one.text for one in collection(config, "weights").stored.reductions
        ]
