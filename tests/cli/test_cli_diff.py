"""The verb diff: where two trainings part, and what with."""

from __future__ import annotations

import json

import pytest

from tests.support.cli.parted_workers import two_workers


@pytest.fixture
def told(verb):
    """Return a function that compares two runs and returns the status and the JSON."""

    def run(*arguments):
        status, out, err = verb("diff", *arguments, "--json")
        assert "" == err
        return status, json.loads(out)

    return run


class TestTrainings:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("how", "step", "stage", "tensor"),
        [
            ({"seed": 1}, 0, "weights", "0.weight"),
            ({"data_seed": 1}, 0, "data", "batch/0"),
            ({"dropout_seed": 1}, 0, "outputs", "output/2"),
            ({"rate_from_40": 0.02}, 40, "learning rate", "learning_rate/0"),
            ({"flip_at": 20}, 20, "weights", "3.weight"),
        ],
    )
    def test_what_was_changed_is_the_cause(self, told, trained, how, step, stage, tensor):
        """The step, the stage and the tensor; the step before is the same."""
        status, found = told(trained(), trained(**how))
        cause = found["causes"][0]

        assert (1, step) == (status, found["parted"]["mode_step"])
        assert (stage, tensor, []) == (cause["stage"], cause["tensor"], cause["not_compared"])
        assert tensor == found["differences"][0]["tensor"]
        assert (step - 1 if step else None) == (found["before"] and found["before"]["mode_step"])

    def test_another_learning_rate_reaches_the_weights_a_step_later(self, told, trained):
        """No weight differs at step 40; without the learning rate it is they that tell."""
        runs = trained(), trained(rate_from_40=0.02)
        assert "weights" not in {one["stage"] for one in told(*runs)[1]["differences"]}

        ignored = ("--ignore", "^learning_rate/", "--ignore", "^update_ratio/")
        found = told(*runs, *ignored)[1]
        assert (41, "weights") == (found["parted"]["mode_step"], found["causes"][0]["stage"])
        assert ["learning_rates"] == found["causes"][0]["not_compared"]

    def test_the_same_training_twice_is_the_same(self, verb, trained):
        """Exit status 0, in one line, whatever the clock said."""
        status, out, err = verb("diff", trained(), trained(again=1))

        assert (0, "", 1) == (status, err, len(out.splitlines()))
        assert out.startswith("the same: 45 steps with ")

    def test_a_shorter_training_is_the_same_as_far_as_it_goes(self, verb, trained):
        """And what was not compared is said."""
        status, out, _ = verb("diff", trained(), trained(steps=30))

        assert 0 == status
        assert f"not compared: 15 TRAIN steps, only in file://{trained()}" in out

    @pytest.mark.slow
    @pytest.mark.parametrize("how", [{"data_seed": 1}, {"flip_at": 20}])
    def test_runs_in_smdebugs_format_are_compared_too(self, told, trained, how):
        """They have the same answer, as far as that format holds it."""
        runs = [trained(format="smdebug", policy="weights:raw:every=1", **one) for one in ({}, how)]
        status, found = told(*runs)

        assert (1, how.get("flip_at", 0)) == (status, found["parted"]["mode_step"])
        assert (0, True) == (lambda same: (same[0], same[1]["same"]))(told(runs[0], runs[0]))

    def test_full_values_tell_which_element(self, told, trained):
        """Where both runs have them."""
        save = {"policy": ("weights:raw:every=20",)}
        first = told(trained(**save), trained(flip_at=20, **save))[1]["differences"][0]

        assert ("value", "[0, 3]", 2.0**14) == (first["by"], first["at"], first["ulp"])

    def test_ulps_are_shown_of_small_differences_only(self, verb, trained):
        """Where a rate is another their number tells nothing."""
        small = verb("diff", trained(noise=1e-6), trained(noise=1.1e-6))[1]
        large = verb("diff", trained(), trained(rate_from_40=0.02))[1]

        assert (True, False) == (" ulp" in small, " ulp" in large)


class TestBounds:
    def test_noise_hides_what_equal_runs_differ_by(self, told, trained):
        """Runs whose weights are moved at random are the same but for noise; other data are not."""
        noisy = [trained(noise=noise) for noise in (1e-6, 1.1e-6, 1.2e-6)]
        status, found = told(noisy[0], noisy[1], "--noise", noisy[2])
        assert (0, 1, "noise") == (status, found["parted"]["mode_step"], found["bound"])
        assert 1 == found["noise"]["parted"]["mode_step"]

        other = trained(noise=1e-6, rate_from_40=0.02)
        status, found = told(noisy[1], other, "--noise", noisy[2])
        assert (1, 40, "learning_rate/0") == (
            status, found["beyond"]["mode_step"], found["causes"][0]["tensor"],
        )  # fmt: skip

    def test_a_tolerance_makes_small_differences_none(self, told, trained):
        """Exit status 0 where it is not passed; where they part is told all the same."""
        runs = trained(), trained(flip_at=20)
        status, found = told(*runs, "--rtol", "1e-2", "--atol", "1e-3")
        assert (0, True, 20, None) == (
            status, found["same"], found["parted"]["mode_step"], found["beyond"],
        )  # fmt: skip
        assert (1, 20) == (lambda s, f: (s, f["beyond"]["mode_step"]))(*told(*runs, "--rtol", "0"))

    def test_without_a_bound_rounding_is_told_from_the_rest(self, told, trained):
        """The exit status is of the bits."""
        status, found = told(trained(noise=1e-6), trained(noise=1.1e-6))

        assert (1, "rounding", 1) == (status, found["bound"], found["parted"]["mode_step"])


class TestOutput:
    def test_people_are_told_where_why_and_how_far(self, verb, trained):
        """A verdict, the cause, a table, a curve."""
        out = verb("diff", trained(), trained(rate_from_40=0.02))[1].splitlines()

        assert "they part at TRAIN step 40, first in learning_rate/0" == out[0]
        assert out[1].startswith("  learning rate: another learning rate")
        assert (
            "  TRAIN step 39, before any bit differs, is the same in all that both have saved"
            in out
        )
        row = next(line.split() for line in out if line.startswith("learning_rate/0"))
        assert ["0.01", "0.02", "0.01", "0.5"] == row[4:8]
        assert any("relative difference" in line for line in out)

    def test_json_tells_what_was_read(self, told, trained):
        """Bytes, of how many."""
        read = told(trained(), trained(flip_at=20))[1]["read"]

        assert 0 < read["bytes"]
        assert 0 < read["times"]

    def test_settings_that_differ_are_hints(self, told, trained):
        """What was saved, in words; and what only one run saved was not compared."""
        found = told(trained(), trained(policy=("losses:statistics:every=5",)))[1]

        saved = {one["what"]: one["b"] for one in found["settings"]}
        assert "statistics every=5,first=0" == saved["saved of losses"]

    def test_workers_are_compared_each_with_its_own(self, verb, tmp_path):
        """The one whose batch is another is named."""
        two_workers(tmp_path / "a")
        two_workers(tmp_path / "b", other=(3, "worker_1"))
        status, out, _ = verb("diff", tmp_path / "a", tmp_path / "b")

        assert 1 == status
        assert "they part at TRAIN step 3, first in batch/0 of worker_1" == out.splitlines()[0]

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (("--noise", "x", "--rtol", "1"), "leave out --rtol and --atol"),
            (("--rtol", "-1"), "-1"),
            (("--ignore", "("), "does not compile"),
            (("--ignore", ""), "no tensor in common"),
        ],
    )
    def test_what_cannot_be_asked_is_one_line(self, verb, trained, arguments, expected):
        """Exit status 2."""
        status, out, err = verb("diff", trained(), trained(again=1), *arguments)

        assert (2, "", 1) == (status, out, len(err.splitlines()))
        assert expected in err

    def test_other_models_have_nothing_in_common(self, verb, tmp_path):
        """Nor do a run and no run."""
        two_workers(tmp_path / "a")
        two_workers(tmp_path / "b", prefix="other.")
        for place, expected in (("b", "no tensor in common"), ("c", "no run at")):
            status, _, err = verb("diff", tmp_path / "a", tmp_path / place)
            assert (2, 1) == (status, len(err.splitlines()))
            assert expected in err
