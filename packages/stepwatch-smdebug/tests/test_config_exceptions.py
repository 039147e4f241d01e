"""smdebug's exceptions: their fields, and what else they are."""

from __future__ import annotations

import pickle

import pytest

from smdebug import exceptions, modes
from smdebug.core.modes import ALLOWED_MODE_NAMES, str_to_mode_keys
from stepwatch import errors

TRAIN = modes.TRAIN
EVERY = {
    exceptions.InvalidCollectionConfiguration: {"c_name": "own"},
    exceptions.StepNotYetAvailable: {"step": 3, "mode": TRAIN},
    exceptions.StepUnavailable: {"step": 3, "mode": TRAIN},
    exceptions.MissingStep: {"step": 3, "mode": TRAIN, "last_step": 5},
    exceptions.TensorUnavailableForStep: {
        "tname": "x",
        "step": 3,
        "mode": TRAIN,
        "has_reductions": True,
    },
    exceptions.ShapeUnavailableForStep: {"tname": "x", "step": 3, "mode": TRAIN},
    exceptions.TensorUnavailable: {"tname": "x"},
    exceptions.InvalidWorker: {"worker": "worker_7"},
    exceptions.MissingCollectionFiles: {},
    exceptions.IndexReaderException: {"message": "why"},
    exceptions.NoMoreData: {"step": 3, "mode": TRAIN, "last_step": 2},
    exceptions.NoMoreProfilerData: {"timestamp": 12.5},
    exceptions.RuleEvaluationConditionMet: {"rule_name": "R", "step": 3, "end_of_rule": True},
    exceptions.InsufficientInformationForRuleInvocation: {"rule_name": "R", "message": "why"},
}


class TestEveryException:
    @pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
    def test_has_its_fields_and_says_them_in_one_line(self, kind):
        """Each field is kept; a message is one line."""
        error = kind(**EVERY[kind])

        assert EVERY[kind] == {name: getattr(error, name) for name in EVERY[kind]}
        assert "\n" not in str(error)

    @pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
    def test_can_be_sent_to_another_process(self, kind):
        """Data loaders and pools pickle what they raise."""
        error = kind(*EVERY[kind].values())

        assert str(error) == str(pickle.loads(pickle.dumps(error)))

    @pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
    def test_is_caught_by_either_root(self, kind):
        """By smdebug's and by Stepwatch's."""
        assert issubclass(kind, exceptions.SMDebugError)
        assert issubclass(kind, errors.StepwatchError)


class TestKinships:
    @pytest.mark.parametrize(
        ("kind", "other"),
        [
            (exceptions.SMDebugValueError, errors.ConfigError),
            (exceptions.SMDebugTypeError, TypeError),
            (exceptions.SMDebugRuntimeError, RuntimeError),
            (exceptions.SMDebugNotImplementedError, NotImplementedError),
            (exceptions.StepUnavailable, errors.StepUnavailable),
            (exceptions.StepNotYetAvailable, errors.StepUnavailable),
            (exceptions.NoMoreData, errors.StepUnavailable),
            (exceptions.TensorUnavailable, errors.TensorUnavailable),
            (exceptions.TensorUnavailableForStep, errors.TensorUnavailable),
            (exceptions.InvalidCollectionConfiguration, errors.ConfigError),
            (exceptions.MissingStep, exceptions.StepUnavailable),
            (exceptions.MissingStep, exceptions.NoMoreData),
        ],
    )
    def test_one_means_the_other(self, kind, other):
        """Code that knows either catches it."""
        assert issubclass(kind, other)

    def test_waiting_for_a_step_that_was_skipped_is_not_the_end(self):
        """``except NoMoreData`` around waiting does not end a loop too early."""
        assert not issubclass(exceptions.StepUnavailable, exceptions.NoMoreData)


class TestModes:
    def test_the_members_are_smdebugs(self):
        """Names and numbers, which old code stores."""
        assert {"TRAIN": 1, "EVAL": 2, "PREDICT": 3, "GLOBAL": 4} == {
            mode.name: mode.value for mode in modes
        }

    @pytest.mark.parametrize("name", ALLOWED_MODE_NAMES)
    def test_a_name_is_read_in_any_case(self, name):
        """``train`` is TRAIN."""
        assert modes[name] == str_to_mode_keys(name.lower())

    def test_another_name_is_said(self):
        """With those that there are."""
        with pytest.raises(exceptions.SMDebugValueError, match="there are train, eval"):
            str_to_mode_keys("test")
