"""The steps of a trial: counting, completeness, waiting, refreshing."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from smdebug import modes
from smdebug.analysis.utils import no_refresh, refresh
from smdebug.core.tensor import StepState
from smdebug.exceptions import (
    IndexReaderException,
    MissingCollectionFiles,
    NoMoreData,
    SMDebugError,
    StepUnavailable,
)
from smdebug.trials import LocalTrial, S3Trial, create_trial
from stepwatch.errors import CorruptRun, RunNotFound
from stepwatch.model.steps import Mode
from stepwatch.store import open_store
from tests.support.compat.debugger_runs import Written, finished, golden_copy, golden_run

W = {"w": np.float32([1, 2])}
FORMATS = ("smdebug", "native")


@pytest.fixture(params=FORMATS)
def two_modes(request, tmp_path):
    """A finished run of 10 TRAIN steps, of which each second was saved, and 2 EVAL steps."""
    run = Written(tmp_path, format=request.param)
    for step in range(0, 10, 2):
        run.step(step, W)
    for step in (10, 11):
        run.step(step, {"w": np.float32([3, 4]), "v": 1.0}, mode=Mode.EVAL, mode_step=step - 10)
    run.end()
    return create_trial(run.url)


class TestCounting:
    def test_no_mode_is_all_modes(self, two_modes):
        """``None`` says nothing of the mode, as the guide has it."""
        assert [0, 2, 4, 6, 8, 10, 11] == two_modes.steps(mode=None)

    def test_a_mode_counts_its_own_steps(self, two_modes):
        """The first EVAL step is 0."""
        assert [0, 1] == two_modes.steps(mode=modes.EVAL)

    def test_a_mode_without_steps_has_none(self, two_modes):
        """It is no error to ask."""
        assert [] == two_modes.steps(mode=modes.PREDICT)

    def test_modes(self, two_modes):
        """Those that have a step."""
        assert {modes.TRAIN, modes.EVAL} == set(two_modes.modes())

    def test_there_and_back(self, two_modes):
        """Global steps and mode steps name the same steps."""
        there = [two_modes.global_step(modes.EVAL, step) for step in (0, 1, 2)]

        assert ([10, 11, None], (modes.EVAL, 1)) == (there, two_modes.mode_modestep(11))

    def test_a_step_that_was_not_saved_is_of_no_mode(self, two_modes):
        """Nothing is made up."""
        assert ((None, None), None, None) == (
            two_modes.mode_modestep(3),
            two_modes.mode(3),
            two_modes.mode_step(3),
        )

    def test_the_steps_of_a_tensor_by_its_name(self, two_modes):
        """The name of a tensor in place of a mode asks for its steps."""
        assert [10, 11] == two_modes.steps("v", node="worker_0")

    def test_a_worker_that_saved_nothing_has_no_steps(self, two_modes):
        """A node is a filter."""
        assert [] == two_modes.steps("v", node="worker_7")

    def test_a_range_of_steps(self, two_modes):
        """The end is out, and what lies outside of the range is not there."""
        trial = create_trial(two_modes.path, range_steps=(2, 10))

        assert ([2, 4, 6, 8], ["w"], [], [2, 4, 6, 8]) == (
            trial.steps(),
            trial.tensor_names(),
            trial.steps(modes.EVAL),
            trial.tensor("w").steps(),
        )

    @pytest.mark.parametrize("wrong", [(5, 2), (-1, None), ("0", 3)])
    def test_no_range(self, two_modes, wrong):
        """What cannot be a range is refused as smdebug does."""
        with pytest.raises(AssertionError, match="range_steps"):
            create_trial(two_modes.path, range_steps=wrong)


class TestPassing:
    def test_between_saved_steps(self, two_modes):
        """A step between two others was passed over."""
        assert StepState.UNAVAILABLE is two_modes.has_passed_step(3)

    def test_counted_in_a_mode(self, two_modes):
        """EVAL has two steps."""
        states = [two_modes.has_passed_step(step, modes.EVAL) for step in (1, 2)]

        assert [StepState.AVAILABLE, StepState.UNAVAILABLE] == states

    def test_waiting_for_a_step_that_was_passed_over(self, two_modes):
        """It will never be there."""
        with pytest.raises(StepUnavailable):
            two_modes.wait_for_steps([0, 3])

    def test_waiting_for_a_step_after_the_end(self, two_modes):
        """The error says up to where there are steps."""
        with pytest.raises(NoMoreData) as caught:
            two_modes.wait_for_steps([12])

        assert (12, modes.GLOBAL, 11) == (
            caught.value.step,
            caught.value.mode,
            caught.value.last_step,
        )

    def test_waiting_for_steps_that_are_there(self, two_modes):
        """It does not wait."""
        assert two_modes.wait_for_steps([0, 1], modes.EVAL) is None


class TestSeveralWorkers:
    @pytest.fixture
    def running(self, tmp_path):
        """Two workers; the second has yet to write steps 2 and 3."""
        run = Written(tmp_path, workers=2)
        for step in range(4):
            run.step(step, W, workers=(0, 1) if step < 2 else (0,))
        return run

    def test_a_step_is_complete_when_all_wrote_it(self, running):
        """Others are shown when they are asked for."""
        trial = create_trial(running.url)

        assert ([0, 1], [0, 1, 2, 3]) == (trial.steps(), trial.steps(show_incomplete_steps=True))

    def test_what_may_still_come(self, running):
        """Steps that some worker has not written may still become complete."""
        states = [create_trial(running.url).has_passed_step(step).value for step in (1, 2, 9)]

        assert [1, 2, 2] == states

    def test_the_end_completes_all(self, running):
        """What was not written by then never is."""
        trial = create_trial(running.url)
        running.end()

        assert ([0, 1, 2, 3], True, 3) == (
            trial.steps(),
            trial.loaded_all_steps,
            trial.last_complete_step,
        )

    def test_the_window(self, running, monkeypatch):
        """With too many steps waiting for a worker, the oldest half of them is complete."""
        monkeypatch.setenv("SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", "2")
        for step in range(4, 7):
            running.step(step, W)

        assert [0, 1, 2, 3, 4] == create_trial(running.url).steps()

    def test_a_window_that_is_no_number(self, running, monkeypatch):
        """The variable is named."""
        monkeypatch.setenv("SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", "many")

        with pytest.raises(SMDebugError, match=r"SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW.*'many'"):
            create_trial(running.url)

    def test_workers_by_either_name(self, running):
        """A node is a worker."""
        trial = create_trial(running.url)

        assert ["worker_0", "worker_1"] == trial.workers() == trial.nodes()

    def test_the_token_names_the_last_complete_step(self, running):
        """The index file of the last worker."""
        token = create_trial(running.url).last_index_token

        assert token.endswith("index/000000000/000000000001_worker_1.json")


class TestFollowing:
    def test_a_run_without_a_step_opens(self, tmp_path):
        """It has begun, and shows its steps as they come."""
        run = Written(tmp_path)
        trial = create_trial(run.url)
        before = (trial.steps(), trial.tensor_names(), trial.loaded_all_steps)
        run.step(0, W)

        assert (([], [], False), [0], ["w"]) == (before, trial.steps(), trial.tensor_names())

    def test_a_claimed_place_opens(self, tmp_path):
        """So does a run of smdebug's own of which there is only the claim."""
        (tmp_path / "claim.smd").touch()

        assert [] == create_trial(str(tmp_path)).steps()

    def test_the_end_is_noticed_without_asking_for_steps(self, tmp_path):
        """A loop on ``loaded_all_steps`` alone ends."""
        run = Written(tmp_path)
        trial = create_trial(run.url)
        run.end()

        assert trial.loaded_all_steps

    def test_no_refresh(self, tmp_path):
        """Within it a trial shows what it showed."""
        run = Written(tmp_path)
        run.step(0, W)
        trial = create_trial(run.url)
        with no_refresh([trial]):
            run.step(1, W)
            frozen = trial.steps()

        assert ([0], [0, 1]) == (frozen, trial.steps())

    def test_contexts_leave_what_they_found(self, tmp_path):
        """Nested, and also after an exception."""
        trial = create_trial(Written(tmp_path).url)
        with no_refresh(trial):
            with pytest.raises(ValueError, match="inside"), refresh(trial):
                raise ValueError("inside")
            within = trial.dynamic_refresh

        assert (False, True) == (within, trial.dynamic_refresh)

    def test_waiting_leaves_refreshing_as_it_was(self, tmp_path):
        """smdebug leaves it off."""
        run = Written(tmp_path)
        run.step(0, W)
        trial = create_trial(run.url)
        trial.wait_for_steps([0])

        assert trial.dynamic_refresh

    def test_a_finished_run_answers_at_once(self, tmp_path, monkeypatch):
        """Nothing sleeps before the first answer."""
        monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it slept"))

        assert [0] == create_trial(finished(tmp_path, {0: W})).steps()

    def test_the_delay_after_the_end_on_request(self, tmp_path, monkeypatch):
        """Stores where files take time to appear have a variable for that."""
        slept = []
        monkeypatch.setattr(time, "sleep", slept.append)
        monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "3")
        create_trial(finished(tmp_path, {0: W}))

        assert [3] == slept


class TestOpening:
    def test_a_wrong_path_fails_at_once(self, tmp_path):
        """Under both names of the error, in one line."""
        with pytest.raises(RunNotFound, match=r"no run at .*nowhere") as caught:
            create_trial(str(tmp_path / "nowhere"))

        assert (True, 1) == (
            isinstance(caught.value, SMDebugError),
            len(str(caught.value).splitlines()),
        )

    def test_an_end_without_collections(self, tmp_path):
        """Training ended, and nobody said what was saved."""
        place = golden_copy("mw_partial_running", tmp_path)
        (place / "collections" / "000000000" / "worker_1_collections.json").unlink()
        (place / "training_job_end.ts").touch()

        with pytest.raises(MissingCollectionFiles):
            create_trial(str(place))

    def test_damage_has_both_names(self, tmp_path):
        """What smdebug calls an index error is what Stepwatch calls a corrupt run."""
        place = golden_copy("many_index_dirs", tmp_path)
        (place / "index" / "000000000" / "000000000000_worker_0.json").write_text("{")

        with pytest.raises(IndexReaderException, match=r"000000000000_worker_0.json") as caught:
            create_trial(str(place))

        assert isinstance(caught.value, CorruptRun)

    def test_the_name_is_the_last_part_of_the_path(self, tmp_path):
        """Space around a path is no part of it."""
        url = finished(tmp_path / "resnet", {0: W})
        trial = create_trial(f"  {url} \n")

        assert ("resnet", LocalTrial) == (trial.name, type(trial))

    def test_out_dir_is_another_word_for_path(self, tmp_path):
        """As an old introduction writes it."""
        assert [0] == create_trial(out_dir=finished(tmp_path, {0: W}), name="n").steps()

    def test_one_path_is_needed(self, tmp_path):
        """Neither none nor two."""
        with pytest.raises(TypeError, match="one path, got 2"):
            create_trial(str(tmp_path), out_dir=str(tmp_path))

    def test_arguments_that_mean_nothing_any_more(self, tmp_path):
        """Old calls pass them."""
        url = finished(tmp_path, {0: W})

        assert [0] == create_trial(url, parallel=False, check=True, cache=True).steps()

    @pytest.mark.parametrize("place", ["job", "job/output", "job/debug-output"])
    def test_the_output_of_a_job(self, tmp_path, place):
        """Naming the job or its output finds the run in it."""
        finished(tmp_path / "job" / "debug-output", {0: W})

        assert [0] == create_trial(str(tmp_path / place)).steps()

    def test_the_output_of_a_job_that_has_yet_to_begin(self, tmp_path, monkeypatch):
        """A notebook opens it as soon as the job trains; its run comes when the script saves."""
        slept = []

        def train(seconds):
            slept.append(seconds)
            if len(slept) == 3:
                finished(tmp_path / "job" / "debug-output", {0: W})

        monkeypatch.setattr("stepwatch_smdebug.trials.followed_run.time.sleep", train)

        assert [0] == create_trial(str(tmp_path / "job" / "debug-output")).steps()
        assert 3 == len(slept)

    def test_the_output_of_a_job_that_has_saved_no_step(self, tmp_path, monkeypatch):
        """Its collections are there first, and no name of a tensor yet."""
        run = Written(tmp_path / "job" / "debug-output")
        monkeypatch.setattr(
            "stepwatch_smdebug.trials.followed_run.time.sleep",
            lambda _: (run.step(0, W), run.end()),
        )

        assert ["w"] == create_trial(run.url).tensor_names()

    def test_the_output_of_a_job_that_never_comes(self, tmp_path, monkeypatch):
        """It is waited for, and not for ever."""
        clock = [0.0]
        time = SimpleNamespace(
            monotonic=lambda: clock[0], sleep=lambda seconds: clock.append(clock.pop() + 100)
        )
        monkeypatch.setattr("stepwatch_smdebug.trials.followed_run.time", time)
        with pytest.raises(RunNotFound, match="once the training has begun"):
            create_trial(str(tmp_path / "job" / "debug-output"))

        assert 600 == clock[0]

    def test_a_neighbour_is_not_taken(self, tmp_path):
        """Only beside ``output`` is another folder meant."""
        finished(tmp_path / "debug-output", {0: W})

        with pytest.raises(RunNotFound):
            create_trial(str(tmp_path / "typo"))

    def test_trials_of_one_run_are_equal(self):
        """By name and path."""
        path = str(golden_run("dtypes"))
        trials = {create_trial(path), create_trial(path), create_trial(path, name="other")}

        assert 2 == len(trials)

    def test_a_profile_is_opened_where_that_is_asked_for(self, tmp_path):
        """A trial of its own kind."""
        trial = create_trial(str(tmp_path), profiler=True, output_dir=str(tmp_path / "out"))

        assert ("ProfilerTrial", 0) == (type(trial).__name__, trial.first_timestamp)

    def test_a_run_on_s3(self, monkeypatch):
        """With a store that is installed for it, by bucket and prefix."""
        finished("memory://bucket-of-s3/a/run", {0: W})
        monkeypatch.setattr(
            "stepwatch_smdebug.trials.followed_run.open_store",
            lambda url: open_store(url.replace("s3://", "memory://")),
        )
        trial = create_trial("s3://bucket-of-s3/a/run")

        assert (S3Trial, "bucket-of-s3", "a/run", "run", [0]) == (
            type(trial),
            trial.bucket_name,
            trial.prefix_name,
            trial.name,
            trial.steps(),
        )

    def test_s3_needs_a_package(self, monkeypatch):
        """The error says how to get it."""
        monkeypatch.setitem(sys.modules, "obstore", None)
        with pytest.raises(ImportError, match=r"pip install 'stepwatch\[s3\]'"):
            create_trial("s3://bucket/run")
