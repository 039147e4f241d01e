"""What the real smdebug imports from itself is here, or said to be absent, and answers the same."""

from __future__ import annotations

import importlib
import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from smdebug.core.index_reader import LocalIndexReader
from smdebug.core.locations import IndexFileLocationUtils, TensorFileLocation
from smdebug.core.reader import FileReader
from tests.support.treaty.real_smdebug import TOLD, ask, told

ROOT = Path(__file__).parents[2]

# Prints which names the modules of the real one import from each other.
_IMPORTED = """
import ast, json, pathlib, smdebug
root = pathlib.Path(smdebug.__file__).parent
found = set()
for path in root.rglob("*.py"):
    package = ["smdebug", *path.relative_to(root).with_suffix("").parts]
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = package[: -node.level] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        if module.partition(".")[0] == "smdebug":
            found |= {(module, alias.name) for alias in node.names if alias.name != "*"}
print(json.dumps(sorted(found)))
"""
# Returns what functions and constants answer.
_CALLED = """
import importlib, json
def answers(calls):
    found = []
    for module, name, arguments in calls:
        one = importlib.import_module(module)
        for part in name.split("."):
            one = getattr(one, part)
        one = one(*arguments) if callable(one) else one
        found.append(sorted(one) if isinstance(one, (set, frozenset)) else one)
    return found
"""
UTILS, LOCATIONS = "smdebug.core.utils", "smdebug.core.locations"
PROFILER, TF = "smdebug.profiler.utils", "smdebug.core.collection"
DEVICE = "/replica:0/task:1/device:GPU:0"
INDEX = "r/index/000000001/000000001230_worker_2.json"
TRACE = "x/framework/pevents/2020060500/1591160699000000_1-algo-1_model_timeline.json"
SYSTEM = "x/system/incremental/2020060500/1591160699.algo-1.json"
#: Calls that every name of which must answer as the real one does.
CALLS = [
    *((UTILS, "is_s3", [path]) for path in ("s3://b/k/x", "s3://b", "s3://b/", "/a", "s3:/b")),
    (UTILS, "flatten", [[1, [2, [3]], "ab"]]),
    (UTILS, "load_json_as_dict", ['{"a": 1}']),
    (UTILS, "load_json_as_dict", [{"a": 1}]),
    (UTILS, "load_json_as_dict", ["None"]),
    (UTILS, "merge_two_dicts", [{"a": 1, "b": 2}, {"b": 3}]),
    (UTILS, "match_inc", ["conv.weight", ["wei", "x"]]),
    (UTILS, "index", [[1, 3, 5], 3]),
    (UTILS, "step_in_range", [[None, 4], 3]),
    (UTILS, "size_and_shape", ["text"]),
    (UTILS, "serialize_tf_device", [DEVICE]),
    (UTILS, "deserialize_tf_device", ["_replica-0_task-1_device-GPU-0"]),
    (UTILS, "get_path_to_collections", ["run"]),
    (UTILS, "get_path_to_events_directory", ["run"]),
    (UTILS, "get_relative_event_file_path", ["a/b/events/0/0_worker_0.tfevents"]),
    (UTILS, "get_worker_name_from_collection_file", ["r/collections/0/worker_0_collections.json"]),
    (UTILS, "get_worker_name_from_collection_file",
     ["r/collections/0/_job-worker_task-1_collections.json"]),
    (UTILS, "parse_worker_name_from_file", [INDEX]),
    (UTILS, "parse_worker_name_from_file", ["r/events/0/000000000010__task-1_device-0.tfevents"]),
    (UTILS, "get_aws_region_from_processing_job_arn", ["arn:aws:sagemaker:eu-west-1:1:x/y"]),
    (UTILS, "check_smdataparallel_env", []),
    (UTILS, "check_smmodelparallel_training", []),
    (f"{UTILS}", "FRAMEWORK.PYTORCH.value.upper", []),
    (f"{LOCATIONS}", "IndexFileLocationUtils.get_index_prefix_for_step", [2500]),
    (f"{LOCATIONS}", "IndexFileLocationUtils.next_index_prefix_for_step", [2500]),
    (f"{LOCATIONS}", "IndexFileLocationUtils.get_index_key_for_step", ["r", 1230, "worker_2"]),
    (f"{LOCATIONS}", "IndexFileLocationUtils.get_step_from_idx_filename", ["a_12_worker_0.json"]),
    (f"{LOCATIONS}", "IndexFileLocationUtils.parse_step_from_index_file_name", [INDEX]),
    (f"{LOCATIONS}", "IndexFileLocationUtils.get_index_path", ["r"]),
    (f"{LOCATIONS}", "IndexFileLocationUtils.get_prefix_from_index_file", [INDEX]),
    (f"{LOCATIONS}", "TensorFileLocation.get_dir", ["r"]),
    (f"{LOCATIONS}", "TensorFileLocation.get_step_dir_path", ["r", 7]),
    (PROFILER, "is_valid_tracefilename", [TRACE]),
    (PROFILER, "is_valid_tracefilename", ["x/pevents/a.json"]),
    (PROFILER, "get_node_id_from_tracefilename", [TRACE]),
    (PROFILER, "get_timestamp_from_tracefilename", [TRACE]),
    (PROFILER, "is_valid_tfprof_tracefilename", ["tensorflow/detailed_profiling/1.trace.json.gz"]),
    (PROFILER, "validate_system_profiler_file", [SYSTEM]),
    (PROFILER, "get_node_id_from_system_profiler_filename", [SYSTEM]),
    (PROFILER, "get_utctimestamp_us_since_epoch_from_system_profiler_file", [SYSTEM]),
    (PROFILER, "convert_utc_timestamp_to_nanoseconds", [1591160699]),
    (PROFILER, "ns_since_epoch_to_human_readable_time", [1591160699_500000000]),
    ("smdebug.profiler.python_profile_utils", "python_profile_mode_to_str", [5]),
    *((TF, f"DEFAULT_{name}_COLLECTIONS", []) for name in ("PYTORCH", "MXNET", "TF", "XGBOOST")),
    (TF, "NON_REDUCTION_COLLECTIONS", []),
    (TF, "SM_METRIC_COLLECTIONS", []),
]  # fmt: skip

# Writes a run of three steps.
_WRITE = """
import numpy as np
from smdebug import modes
from smdebug.core.writer import FileWriter
def write(folder):
    for step in (0, 3, 1234):
        with FileWriter(trial_dir=folder, step=step, worker="worker_0") as writer:
            writer.write_tensor(np.float32([[1, 2], [3, 4]]), "a/b:0", mode=modes.TRAIN,
                                mode_step=step // 2, timestamp=1.7e9)
            writer.write_tensor(7.5, "scalar", timestamp=1.7e9 + step)
            writer.write_tensor(["x", "yz"], "texts", timestamp=1.7e9)
            writer.write_tensor(np.arange(3), "hidden", write_index=False, timestamp=1.7e9)
            writer.write_shape("shape/only", (2, 3), mode=modes.TRAIN, mode_step=5,
                               original_name="own")
    with FileWriter(folder + "/board", "1_host", 3, "tensorboard", modes.EVAL,
                    write_checksum=True) as writer:
        writer.write_scalar_summary("loss/a b", 0.5, 3, timestamp=1.7e9)
"""

# Prints what the real readers say of files.
_READ = (
    TOLD
    + """
from smdebug.core.reader import FileReader
from smdebug.core.index_reader import LocalIndexReader
def of(one):
    return [one[0], one[1], told(one[2]), one[3].name, one[4]]
reader = LocalIndexReader(sys.argv[1])
data, token = reader.load_tensor_data_from_index_files()
named = {}
for name, steps in data.items():
    for step, workers in steps.items():
        for worker, found in workers.items():
            (kind, where), = found.items()
            value = told(reader.fetch_tensor_value(where)) if kind == "tensor_location" else (
                list(where.shape))
            named[f"{name} {step} {worker}"] = [kind, where.mode.name, where.mode_step, value]
events = [FileReader(path) for path in reader.list_event_files("")]
print(json.dumps([
    named, token, reader.load_tensor_data_from_index_files(token)[0],
    [[of(one) for one in reader.read_tensors()] for reader in events],
    [[{**one, "value": told(one["value"])} for one in FileReader(path).read_events(
        regex_list=["sca"])] for path in reader.list_event_files("")],
]))
"""
)


def absent():
    """Return the modules and names that the documentation says are not there."""
    text = (ROOT / "docs/smdebug.md").read_text().partition("**Inner parts of smdebug**")[2]
    entry = re.split(r"\n(?:- \*\*|## )", text)[0]
    return {f"smdebug.{name}" for name in re.findall(r"`((?:[a-z0-9_]+\.)+[\w.]+)`", entry)}


def holds(one, name):
    """Return whether a module or name is, or holds, another one."""
    return name == one or name.startswith(f"{one}.")


def is_there(module, name):
    """Return whether a name can be imported; of what needs a framework, whether it is defined."""
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("keras", "mxnet", "xgboost"):
            spec = find_spec(module)
            return re.search(rf"\b{name}\b", Path(spec.origin).read_text()) is not None
        return False
    try:
        return hasattr(found, name) or find_spec(f"{module}.{name}") is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.treaty
class TestNames:
    def test_each_that_the_real_one_imports_is_there_or_said_to_be_absent(self):
        """And none is said to be absent that is there."""
        imported = {(module, name) for module, name in ask(_IMPORTED)}
        missing = {f"{module}.{name}" for module, name in imported if not is_there(module, name)}
        said = absent()

        assert len(imported) > 300
        assert not {name for name in missing if not any(holds(one, name) for one in said)}
        assert not {one for one in said if not any(holds(one, name) for name in missing)}

    def test_calls_are_answered_the_same(self):
        """Paths, names and ranges."""
        space = {}
        exec(_CALLED, space)
        ours = json.loads(json.dumps(space["answers"](CALLS)))
        real = ask(f"{_CALLED}\nprint(json.dumps(answers({CALLS!r})))")

        pairs = zip(CALLS, real, ours, strict=True)
        assert [] == [(call, theirs, mine) for call, theirs, mine in pairs if mine != theirs]

    @pytest.mark.parametrize(
        "module", ["smdebug.core.config_constants", "smdebug.profiler.profiler_constants"]
    )
    def test_constants_have_the_same_values(self, module):
        script = (
            "import json, importlib\n"
            f"found = vars(importlib.import_module({module!r}))\n"
            "print(json.dumps({k: repr(v) for k, v in found.items() if k.isupper()}))"
        )
        ours = vars(importlib.import_module(module))
        real = ask(script)

        assert real == {name: repr(ours.get(name)) for name in real}


def real_write(folder):
    """Write a run by the real writer."""
    ask(f"{_WRITE}\nwrite({str(folder)!r})\nprint('null')")


def told_of(folder):
    """Return what our readers say of a run, in the words of the script."""
    reader = LocalIndexReader(str(folder))
    data, token = reader.load_tensor_data_from_index_files()
    named = {}
    for name, steps in data.items():
        for step, workers in steps.items():
            for worker, found in workers.items():
                ((kind, where),) = found.items()
                is_value = kind == "tensor_location"
                value = told(reader.fetch_tensor_value(where)) if is_value else list(where.shape)
                named[f"{name} {step} {worker}"] = [kind, where.mode.name, where.mode_step, value]
    paths = reader.list_event_files("")
    return [
        named,
        token,
        reader.load_tensor_data_from_index_files(token)[0],
        [
            [[n, s, told(v), m.name, ms] for n, s, v, m, ms in FileReader(path).read_tensors()]
            for path in paths
        ],
        [
            [
                {**one, "value": told(one["value"])}
                for one in FileReader(path).read_events(regex_list=["sca"])
            ]
            for path in paths
        ],
    ]


@pytest.mark.treaty
class TestFiles:
    def test_a_writer_makes_the_same_files(self, tmp_path):
        """Byte for byte, event files, indexes and files for TensorBoard."""
        space = {}
        exec(_WRITE, space)
        space["write"](str(tmp_path / "ours"))
        real_write(tmp_path / "real")
        files = {
            side: {
                str(path.relative_to(tmp_path / side)): path.read_bytes()
                for path in (tmp_path / side).rglob("*")
                if path.is_file()
            }
            for side in ("ours", "real")
        }

        assert sorted(files["real"]) == sorted(files["ours"])
        assert 7 == len(files["real"])
        assert [] == [name for name in files["real"] if files["real"][name] != files["ours"][name]]

    def test_readers_say_the_same_of_a_run(self, tmp_path):
        """What indexes name, the values, and the events."""
        real_write(tmp_path / "run")

        assert ask(_READ, tmp_path / "run") == json.loads(json.dumps(told_of(tmp_path / "run")))

    def test_the_place_of_a_file_is_read_off_its_name(self):
        """Of a worker whose name has an underscore, the last part, as ever."""
        script = (
            "import json\nfrom smdebug.core.locations import TensorFileLocation as T\n"
            "one = T.load_filename('a/000000000005_w.tfevents')\n"
            "print(json.dumps([one.step_num, one.worker_name, one.get_file_location('r')]))"
        )
        one = TensorFileLocation.load_filename("a/000000000005_w.tfevents")

        assert ask(script) == [one.step_num, one.worker_name, one.get_file_location("r")]
        assert IndexFileLocationUtils.MAX_INDEX_FILE_NUM_IN_INDEX_PREFIX == 1000


_CONFIGS = [
    {"ProfilingParameters": {"DetailedProfilingConfig": '{"StartStep": 5, "NumSteps": 3}',
                             "PythonProfilingConfig": '{"ProfilerName": "cProfile", "NumSteps": 2}',
                             "RotateMaxFileSizeInBytes": "1000", "LocalPath": "/tmp/P"}},
    {"ProfilingParameters": {"DataloaderProfilingConfig":
                             '{"StartStep": "2", "MetricsRegex": ".*x"}',
                             "RotateFileCloseIntervalInSeconds": "abc"}},
    {"ProfilingParameters": {"DetailedProfilingConfig": '{"StartStep": 5, "DurationInSeconds": 3}',
                             "PythonProfilingConfig": '{"ProfilerName": "other", "NumSteps": 2}'}},
    {"ProfilingParameters": {"DetailedProfilingConfig":
                             '{"StartTimeInSecSinceEpoch": 100, "DurationInSeconds": 50}'}},
    {"DisableProfiler": True,
     "ProfilingParameters": {"DetailedProfilingConfig": '{"NumSteps": 1}'}},
    {"ProfilingParameters": {}},
]  # fmt: skip
_PARSED = """
import json, os
from smdebug.profiler.profiler_config_parser import MetricsCategory, ProfilerConfigParser
def parsed(paths):
    answers = []
    for path in paths:
        os.environ["SMPROFILER_CONFIG_PATH"] = path
        parser = ProfilerConfigParser()
        config = parser.config
        saved = [
            bool(parser.should_save_metrics(kind, step, name, float(time)))
            for kind in MetricsCategory
            for name in (None, "a-x", "b")
            for step, time in ((0, 90), (2, 100), (5, 120), (7, 149), (8, 150))
        ]
        files = config and [
            config.local_path, config.trace_file.rotation_policy.file_max_size,
            config.trace_file.rotation_policy.file_close_interval,
            config.trace_file.file_open_fail_threshold,
            config.python_profiling_config.is_enabled(),
        ]
        answers.append([parser.profiling_enabled, files, saved])
    return answers
"""


@pytest.mark.treaty
class TestProfilerConfiguration:
    def test_it_asks_for_the_same(self, tmp_path, monkeypatch):
        """Where files go, when another is begun, and which steps are profiled."""
        monkeypatch.setenv("SMPROFILER_CONFIG_PATH", "")
        paths = []
        for number, config in enumerate(_CONFIGS):
            path = tmp_path / f"{number}.json"
            path.write_text(json.dumps(config))
            paths.append(str(path))
        space = {}
        exec(_PARSED, space)
        ours = space["parsed"](paths)
        real = ask(f"{_PARSED}\nprint(json.dumps(parsed({paths!r})))")

        assert real == json.loads(json.dumps(ours))
        assert any(saved for _, _, steps in real for saved in steps)
