"""Every name that the public guides and notebooks import is there, and calls behave."""

from __future__ import annotations

import importlib
import subprocess
import sys

import numpy as np
import pytest

import smdebug
from smdebug import modes
from smdebug.trials import create_trial
from stepwatch.model.steps import Mode
from tests.support.compat.debugger_runs import Written

CONFIG = ("ReductionConfig", "SaveConfig", "SaveConfigMode", "modes", "CollectionKeys")
HOOKS = ("get_hook", "set_hook", "del_hook", "create_trial", "Collection")
#: By module, the names that are imported from it.
IMPORTS = {
    "smdebug": (*CONFIG, "__version__"),
    "smdebug.pytorch": (*CONFIG, *HOOKS, "Hook"),
    "smdebug.mxnet": (*CONFIG, *HOOKS, "Hook"),
    "smdebug.tensorflow": (*CONFIG, *HOOKS, "KerasHook", "SessionHook", "EstimatorHook"),
    "smdebug.xgboost": (*CONFIG[1:], *HOOKS, "Hook"),
    "smdebug.trials": ("create_trial", "Trial", "LocalTrial", "S3Trial"),
    "smdebug.trials.utils": ("create_trial",),
    "smdebug.trials.trial": ("Trial",),
    "smdebug.trials.local_trial": ("LocalTrial",),
    "smdebug.trials.s3_trial": ("S3Trial",),
    "smdebug.trials.profiler_trial": ("ProfilerTrial",),
    "smdebug.rules": ("Rule", "RequiredTensors", "RequiredTensorsForTrial", "invoke_rule"),
    "smdebug.rules.rule": ("Rule",),
    "smdebug.rules.rule_invoker": ("invoke_rule",),
    "smdebug.rules.req_tensors": ("RequiredTensors", "RequiredTensorsForTrial"),
    "smdebug.rules.action": ("Actions",),
    "smdebug.rules.action.action": ("Actions",),
    "smdebug.analysis.utils": ("no_refresh", "refresh", "parse_bool", "parse_list_from_str"),
    "smdebug.exceptions": (
        "SMDebugError",
        "SMDebugTypeError",
        "SMDebugRuntimeError",
        "SMDebugNotImplementedError",
        "SMDebugValueError",
        "SMDebugCustomerError",
        "InvalidCollectionConfiguration",
        "StepNotYetAvailable",
        "StepUnavailable",
        "TensorUnavailableForStep",
        "ShapeUnavailableForStep",
        "TensorUnavailable",
        "InvalidWorker",
        "MissingCollectionFiles",
        "IndexReaderException",
        "NoMoreData",
        "NoMoreProfilerData",
        "RuleEvaluationConditionMet",
        "InsufficientInformationForRuleInvocation",
        "modes",
    ),
    "smdebug.core.modes": ("ModeKeys",),
    "smdebug.core.tensor": ("Tensor", "StepState"),
    "smdebug.core.collection": ("Collection", "CollectionKeys"),
    "smdebug.core.collection_manager": ("CollectionManager",),
    "smdebug.core.save_config": ("SaveConfig", "SaveConfigMode"),
    "smdebug.core.reduction_config": ("ReductionConfig",),
    "smdebug.core.reductions": ("get_numpy_reduction", "get_reduction_tensor_name"),
    "smdebug.core.json_config": ("create_hook_from_json_config", "CONFIG_FILE_PATH_ENV_STR"),
    "smdebug.core.access_layer": ("has_training_ended",),
    "smdebug.core.access_layer.utils": ("has_training_ended", "check_dir_exists"),
    "smdebug.core.sagemaker_utils": ("is_sagemaker_job",),
    "smdebug.core.logger": ("get_logger",),
    "smdebug.core.utils": ("is_s3", "ensure_dir", "flatten", "split", "match_inc"),
    "smdebug.profiler.utils": ("str2bool", "TimeUnits"),
    "smdebug_rulesconfig": ("vanishing_gradient", "weight_update_ratio", "StopTraining"),
    "sagemaker_debugger": ("save_tensor",),
}
UTILS = "smdebug.profiler.analysis.utils"
CHARTS = "smdebug.profiler.analysis.notebook_utils"
#: What the guides import of the profiler.
PROFILER = {
    "smdebug.profiler": (
        "LocalAlgorithmMetricsReader",
        "S3AlgorithmMetricsReader",
        "LocalSystemMetricsReader",
        "S3SystemMetricsReader",
        "S3NumpySystemMetricsReader",
    ),
    "smdebug.profiler.system_metrics_reader": ("S3SystemMetricsReader",),
    "smdebug.profiler.algorithm_metrics_reader": ("S3AlgorithmMetricsReader",),
    "smdebug.profiler.analysis.python_profile_analysis": (
        "PythonProfileAnalysis",
        "cProfileAnalysis",
        "PyinstrumentAnalysis",
    ),
    f"{UTILS}.profiler_data_to_pandas": ("PandasFrame",),
    f"{UTILS}.pandas_data_analysis": ("PandasFrameAnalysis",),
    f"{UTILS}.merge_timelines": ("MergedTimeline",),
    f"{UTILS}.pytorch_dataloader_analysis": ("PT_dataloader_analysis",),
    f"{CHARTS}.training_job": ("TrainingJob",),
    f"{CHARTS}.timeline_charts": ("TimelineCharts",),
    f"{CHARTS}.heatmap": ("Heatmap",),
    f"{CHARTS}.metrics_histogram": ("MetricsHistogram",),
    f"{CHARTS}.step_histogram": ("StepHistogram",),
    f"{CHARTS}.step_timeline_chart": ("StepTimelineChart",),
}
ENUMS = {
    f"{UTILS}.pandas_data_analysis": ("StatsBy.TRAINING_PHASE", "Resource.GPU"),
    f"{UTILS}.merge_timelines": ("MergeUnit.STEP",),
    f"{UTILS}.python_profile_analysis_utils": ("Metrics.TOTAL_TIME",),
}
#: Hooks of frameworks that are not captured from: what is called, and the framework it names.
UNCAPTURED = [
    ("smdebug.tensorflow", "SessionHook", "TensorFlow"),
    ("smdebug.tensorflow", "EstimatorHook", "TensorFlow"),
]

W = np.float32([[1, -1], [3, 4]])
#: Calls as the guides write them, on the run below, and what they give.
CALLS = [
    ("trial.tensor_names()", ["gradient/fc.weight", "loss", "relu_output_0"]),
    ("trial.tensor_names(step=1, mode=modes.TRAIN)", ["gradient/fc.weight", "relu_output_0"]),
    ("trial.tensor_names(regex='relu')", ["relu_output_0"]),
    ("trial.tensor_names(regex=['relu', 'loss'])", ["loss", "relu_output_0"]),
    ("trial.tensor_names(collection='gradients')", ["gradient/fc.weight"]),
    ("trial.tensor_names(step=0, mode=modes.EVAL, regex='lo')", ["loss"]),
    ("trial.tensors(collection='gradients')", ["gradient/fc.weight"]),
    ("trial.tensor('loss').name", "loss"),
    ("trial.has_tensor('loss')", True),
    ("trial.has_tensor('nosuch')", False),
    ("trial.steps()", [0, 1, 2]),
    ("trial.steps(mode=modes.TRAIN)", [0, 1]),
    ("trial.steps(mode=None)", [0, 1, 2]),
    ("trial.steps(show_incomplete_steps=True)", [0, 1, 2]),
    ("sorted(mode.name for mode in trial.modes())", ["EVAL", "TRAIN"]),
    ("trial.mode(global_step=2)", modes.EVAL),
    ("trial.mode_step(global_step=2)", 0),
    ("trial.mode_modestep(2)", (modes.EVAL, 0)),
    ("trial.global_step(mode=modes.EVAL, mode_step=0)", 2),
    ("trial.global_step(mode=modes.GLOBAL, mode_step=100)", 100),
    ("trial.workers()", ["worker_0"]),
    ("sorted(trial.collections())", ["gradients", "losses", "weights"]),
    ("trial.collection('gradients').name", "gradients"),
    ("trial.wait_for_steps([0, 1])", None),
    ("trial.wait_for_steps([0], mode=modes.EVAL)", None),
    ("trial.has_passed_step(1).name", "AVAILABLE"),
    ("trial.has_passed_step(1, mode=modes.EVAL).name", "UNAVAILABLE"),
    ("trial.loaded_all_steps", True),
    ("trial.refresh_data()", None),
    ("trial.tensor('loss').steps(mode=modes.EVAL, show_incomplete_steps=False)", [0]),
    ("trial.tensor('loss').value(0, mode=modes.EVAL).item()", 0.5),
    ("trial.tensor('loss').value(step_num=2).item()", 0.5),
    ("trial.tensor('gradient/fc.weight').value(0).tolist()", W.tolist()),
    ("sorted(trial.tensor('relu_output_0').values())", [0, 1]),
    ("trial.tensor('relu_output_0').values(modes.TRAIN, worker=None)[1].item()", 1.0),
    ("trial.tensor('gradient/fc.weight').reduction_value(0, 'mean', abs=True).item()", 2.25),
    ("trial.tensor('loss').reduction_values(0, mode=modes.EVAL)", {}),
    ("trial.tensor('gradient/fc.weight').shape(0)", (2, 2)),
    ("trial.tensor('gradient/fc.weight').shapes()", {0: (2, 2), 1: (2, 2)}),
    ("trial.tensor('loss').workers(2)", ["worker_0"]),
    ("trial.tensor('loss').workers(0, mode=modes.EVAL)", ["worker_0"]),
    ("trial.tensor('relu_output_0').prev_steps(1, 5)", [0, 1]),
    ("trial.tensor('relu_output_0').prev_steps(1, 1, mode=modes.TRAIN)", [1]),
    ("trial.nodes()", ["worker_0"]),
    ("trial.tensor_names(node='worker_0', tensors_regex='relu')", ["relu_output_0"]),
    ("trial.steps('loss', node='worker_0')", [2]),
    ("trial.tensor('gradient/fc.weight', step=0, node='worker_0').shape", (2, 2)),
    ("str(trial.tensor('gradient/fc.weight', step=0, node='worker_0').dtype)", "float32"),
    ("create_trial(path=trial.path, name='other').name", "other"),
    ("create_trial(trial.path, range_steps=(1, None)).steps()", [1, 2]),
    ("create_trial(trial.path, range_steps=(None, 1)).steps()", [0]),
]


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """A finished run of two TRAIN steps and one EVAL step."""
    run = Written(tmp_path_factory.mktemp("run"))
    for step in (0, 1):
        run.step(step, {"gradient/fc.weight": W, "relu_output_0": float(step)})
    run.step(2, {"loss": 0.5}, mode=Mode.EVAL, mode_step=0)
    run.end()
    return create_trial(run.url)


def named(table):
    """Return module and name of every entry."""
    return [(module, name) for module, names in table.items() for name in names]


class TestImports:
    @pytest.mark.parametrize(("module", "name"), named(IMPORTS))
    def test_a_name_is_there(self, module, name):
        """It can be imported."""
        assert hasattr(importlib.import_module(module), name)

    @pytest.mark.parametrize(("module", "name"), named(PROFILER))
    def test_every_name_of_the_profiler_is_there(self, module, name):
        """It can be imported; what it does is told elsewhere."""
        assert callable(getattr(importlib.import_module(module), name))

    def test_what_there_is_not_is_refused_when_it_is_called(self):
        """In one line, which names what there is instead."""
        with pytest.raises(NotImplementedError, match="open_profile") as caught:
            importlib.import_module("smdebug.profiler").S3NumpySystemMetricsReader("bucket")

        assert 1 == len(str(caught.value).splitlines())

    @pytest.mark.parametrize(("module", "name"), named(ENUMS))
    def test_what_is_passed_to_the_profiler(self, module, name):
        """By the names of the guides."""
        enum, member = name.split(".")

        assert member in getattr(importlib.import_module(module), enum).__members__

    @pytest.mark.parametrize(("module", "called", "framework"), UNCAPTURED)
    def test_other_frameworks_are_refused_when_they_are_called(self, module, called, framework):
        """One line says what is missing and what works."""
        found = importlib.import_module(module)
        for name in called.split("."):
            found = getattr(found, name)

        with pytest.raises(NotImplementedError, match=f"capture from {framework} yet.*is read"):
            found("/tmp/out")

    @pytest.mark.slow
    def test_nothing_heavy_comes_along(self):
        """Reading old runs needs no framework and no cloud client."""
        modules = [name for name in IMPORTS if "pytorch" not in name and "sagemaker" not in name]
        program = f"import sys, {', '.join([*modules, *PROFILER])}; print(*sys.modules)"
        output = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        loaded = {name.split(".")[0] for name in output.split()}

        assert set() == loaded & {"torch", "tensorflow", "mxnet", "xgboost", "boto3", "pandas"}

    def test_one_enum_of_modes(self):
        """Wherever it is imported from."""
        found = [
            importlib.import_module(name).modes
            for name in ("smdebug.tensorflow", "smdebug.mxnet", "smdebug.exceptions")
        ]

        assert [smdebug.modes] * 3 == found


class TestCalls:
    @pytest.mark.parametrize(("call", "expected"), CALLS, ids=[call for call, _ in CALLS])
    def test_a_call(self, trial, call, expected):
        """It gives what the guide says."""
        names = {"trial": trial, "modes": modes, "create_trial": create_trial}

        assert expected == eval(call, names)


class TestUtils:
    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            ("analysis.utils.parse_bool('False', True)", False),
            ("analysis.utils.parse_bool(None, True)", True),
            ("analysis.utils.parse_bool(1, False)", True),
            ("analysis.utils.parse_list_from_str('a,b')", ["a", "b"]),
            ("analysis.utils.parse_list_from_str('')", []),
            ("analysis.utils.parse_list_from_str(None)", []),
            ("analysis.utils.parse_list_from_str(['a'])", ["a"]),
            ("analysis.utils.parse_list_from_str('a;b', delimiter=';')", ["a", "b"]),
            ("core.utils.is_s3('s3://bucket/a/b')", (True, "bucket", "a/b")),
            ("core.utils.is_s3('s3://bucket')", (True, "bucket", "")),
            ("core.utils.is_s3('/tmp/s3')", (False, None, None)),
            ("core.utils.flatten([1, [2, [3]]])", [1, 2, 3]),
            ("core.utils.split('a, b')", ["a", "b"]),
            ("core.utils.merge_two_dicts({1: 2, 3: 4}, {1: 5})", {1: 5, 3: 4}),
            ("core.utils.load_json_as_dict('{}')", {}),
            ("core.utils.step_in_range((2, 4), 4)", False),
            ("core.utils.make_numpy_array(3).shape", (1,)),
            ("core.utils.make_numpy_array((1, 2)).shape", (2,)),
            ("core.utils.make_numpy_array({'a': 1}).item()", {"a": 1}),
            (
                "core.reductions.get_reduction_tensor_name('a:0', 'mean', True)",
                "smdebug/reductions/abs_mean/a",
            ),
            (
                "core.reductions.get_reduction_tensor_name('a:0', 'l1', False, False)",
                "smdebug/reductions/l1/a:0",
            ),
            (
                "core.reductions.reverse_reduction_tensor_name('smdebug/reductions/abs_l2/a/b')",
                ("a/b", "l2", True),
            ),
            ("profiler.utils.str2bool('Yes')", True),
            ("profiler.utils.str2bool('0')", False),
            ("core.logger.get_logger().name", "smdebug"),
        ],
    )
    def test_a_call(self, call, expected):
        """As documented, or as scripts use it."""
        importlib.import_module(f"smdebug.{call.split('(')[0].rpartition('.')[0]}")

        assert expected == eval(f"smdebug.{call}", {"smdebug": smdebug})

    @pytest.mark.parametrize(
        ("module", "call", "error"),
        [
            ("smdebug.analysis.utils", "parse_bool('perhaps', True)", "got 'perhaps'"),
            ("smdebug.profiler.utils", "str2bool('perhaps')", "got 'perhaps'"),
            ("smdebug.core.utils", "make_numpy_array(object())", "object"),
            ("smdebug.core.reductions", "reverse_reduction_tensor_name('a')", "'a' is not"),
        ],
    )
    def test_a_wrong_argument(self, module, call, error):
        """It is named."""
        with pytest.raises((ValueError, TypeError), match=error):
            eval(call, vars(importlib.import_module(module)))

    def test_the_end_of_a_training(self, tmp_path):
        """By its mark."""
        utils = importlib.import_module("smdebug.core.access_layer.utils")
        before = utils.has_training_ended(str(tmp_path))
        utils.check_dir_exists(str(tmp_path))
        utils.training_has_ended(str(tmp_path))
        with pytest.raises(RuntimeError, match="finished run"):
            utils.check_dir_exists(str(tmp_path))

        assert (False, True) == (before, utils.has_training_ended(str(tmp_path)))

    def test_a_folder(self, tmp_path):
        """Of a file, or itself."""
        utils = importlib.import_module("smdebug.core.utils")
        utils.ensure_dir(str(tmp_path / "a" / "file.txt"))
        utils.ensure_dir(str(tmp_path / "b"), is_file=False)

        assert ["a", "b"] == sorted(path.name for path in tmp_path.iterdir())

    def test_on_sagemaker(self, monkeypatch):
        """A variable tells."""
        utils = importlib.import_module("smdebug.core.sagemaker_utils")
        monkeypatch.delenv("TRAINING_JOB_NAME", raising=False)
        before = utils.is_sagemaker_job()
        monkeypatch.setenv("TRAINING_JOB_NAME", "job")

        assert (False, True) == (before, utils.is_sagemaker_job())

    @pytest.mark.parametrize(("level", "expected"), [("debug", 10), ("off", 51), ("", 0)])
    def test_the_level_of_the_logger(self, monkeypatch, level, expected):
        """A variable sets it."""
        monkeypatch.setenv("SMDEBUG_LOG_LEVEL", level)
        get_logger = importlib.import_module("smdebug.core.logger").get_logger

        assert expected == get_logger(f"smdebug.test.{expected}").level

    def test_a_hook_from_a_file(self):
        """The class of the hook reads it."""

        class Hook:
            @classmethod
            def create_from_json_file(cls, json_file_path=None):
                return json_file_path

        create = importlib.import_module("smdebug.core.json_config").create_hook_from_json_config

        assert "hook.json" == create(Hook, "hook.json")
