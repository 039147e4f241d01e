"""Files of a step are written and read directly, by smdebug's own names."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import smdebug.pytorch as smd
from smdebug import modes
from smdebug.core.access_layer import TSAccessFile
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.config_constants import DEFAULT_COLLECTIONS_FILE_NAME
from smdebug.core.error_handling_agent import ErrorHandlingAgent
from smdebug.core.index_reader import LocalIndexReader, ReadIndexFilesCache
from smdebug.core.locations import TensorLocation
from smdebug.core.reader import FileReader
from smdebug.core.utils import SagemakerSimulator, is_first_process, remove_claim_file
from smdebug.core.writer import FileWriter
from smdebug.exceptions import (
    IndexReaderException,
    SMDebugError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
    TensorUnavailableForStep,
)
from smdebug.profiler.profiler_config_parser import ProfilerConfigParser
from smdebug.pytorch.utils import get_reduction_of_data
from smdebug.tensorflow.collection import CollectionManager as KerasCollections
from smdebug.tensorflow.utils import get_num_workers_from_tf_config
from smdebug.trials import create_trial
from smdebug.xgboost.collection import CollectionManager as XGBoostCollections
from stepwatch.errors import CorruptRun

W = np.float32([[1, 2], [3, 4]])


@pytest.fixture
def run(tmp_path):
    """Return a run of two steps that a script wrote by itself, as smdebug's own tests do."""
    for step in (0, 10):
        with FileWriter(trial_dir=str(tmp_path), step=step, worker="worker_0") as writer:
            writer.write_tensor(W + step, "w", mode=modes.TRAIN, mode_step=step // 10)
            writer.write_shape("s", (3, 4), mode=modes.TRAIN, mode_step=step // 10)
    manager = CollectionManager()
    manager.add("default")
    manager.get("default").add_tensor_name("w")
    manager.export(str(tmp_path), DEFAULT_COLLECTIONS_FILE_NAME)
    return tmp_path


class TestFileWriter:
    def test_a_trial_reads_what_it_wrote(self, run):
        trial = create_trial(str(run))

        assert ["s", "w"] == trial.tensor_names()
        assert [0, 1] == trial.steps(modes.TRAIN)
        assert np.array_equal(W + 10, trial.tensor("w").value(10))
        assert (3, 4) == trial.tensor("s").shape(0)

    def test_a_reader_reads_what_it_wrote(self, run):
        path = run / "events/000000000010/000000000010_worker_0.tfevents"
        with FileReader(path) as reader:
            ((name, step, value, mode, mode_step),) = reader.read_tensors()

        assert ("w", 10, modes.TRAIN, 1) == (name, step, mode, mode_step)
        assert np.array_equal(W + 10, value)

    def test_nothing_appears_before_it_is_closed(self, tmp_path):
        """A reader never sees half a step."""
        writer = FileWriter(str(tmp_path), "worker_0", 1)
        with pytest.raises(SMDebugRuntimeError, match="before something is written"):
            writer.name()
        writer.write_tensor(1.5, "loss")
        writer.flush()

        assert [".tmp"] == [path.suffix for path in tmp_path.rglob("*") if path.is_file()]
        writer.close()
        assert [".json", ".tfevents"] == sorted(
            path.suffix for path in tmp_path.rglob("*") if path.is_file()
        )

    @pytest.mark.parametrize(
        ("call", "error"),
        [
            (lambda one: one.write_tensor(object(), "x"), SMDebugTypeError),
            (lambda one: one.write_tensor(np.array([{}]), "x"), SMDebugTypeError),
            (lambda one: one.write_tensor(1, "x", mode="TRAIN"), SMDebugValueError),
            (lambda one: one.write_scalar_summary("x", [1, 2], 0), SMDebugRuntimeError),
            (lambda one: one.write_histogram_summary([1, 2], "x", 0, bins=3), SMDebugValueError),
        ],
    )
    def test_what_cannot_be_written_is_refused(self, tmp_path, call, error):
        with pytest.raises(error), FileWriter(str(tmp_path), "worker_0") as writer:
            call(writer)

        assert [] == [path for path in tmp_path.rglob("*") if path.is_file()]

    def test_another_kind_of_file_is_refused(self, tmp_path):
        with pytest.raises(SMDebugValueError, match="'csv'"):
            FileWriter(str(tmp_path), "worker_0", wtype="csv")


class TestFileReader:
    @pytest.mark.parametrize("check", ["minimal", "full"])
    def test_a_file_that_is_cut_off_is_damaged(self, run, check):
        path = run / "events/000000000000/000000000000_worker_0.tfevents"
        path.write_bytes(path.read_bytes()[:-3])

        with pytest.raises(CorruptRun):
            list(FileReader(path).read_tensors(check))

    def test_the_checksums_of_files_for_tensorboard_are_tested(self, tmp_path):
        """Where the reader is asked to."""
        with FileWriter(str(tmp_path), "worker_0", write_checksum=True) as writer:
            writer.write_tensor(W, "w")
        path = writer.event_file_path
        assert 1 == len(list(FileReader(path).read_tensors("full")))
        with pytest.raises(CorruptRun):
            list(FileReader(path).read_tensors())
        with open(path, "r+b") as file:
            file.seek(-6, os.SEEK_END)
            file.write(b"?")

        with pytest.raises(CorruptRun):
            list(FileReader(path).read_tensors("full"))


class TestIndexReader:
    def test_each_index_file_is_read_once(self, run):
        """The next call goes on where the last one ended."""
        reader = LocalIndexReader(str(run))
        data, token = reader.load_tensor_data_from_index_files(range_steps=(0, 5))
        more, _ = reader.load_tensor_data_from_index_files(token)

        assert {"w": [0], "s": [0]} == {name: list(steps) for name, steps in data.items()}
        assert {"w": [10], "s": [10]} == {name: list(steps) for name, steps in more.items()}
        where = more["w"][10]["worker_0"]["tensor_location"]
        assert np.array_equal(W + 10, reader.fetch_tensor_value(where))

    def test_a_value_whose_file_was_skipped_is_unavailable_at_once(self, run):
        """The worker has gone on to a later step."""
        (run / "events/000000000000/000000000000_worker_0.tfevents").unlink()
        reader = LocalIndexReader(str(run))
        data, _ = reader.load_tensor_data_from_index_files()

        with pytest.raises(TensorUnavailableForStep):
            reader.fetch_tensor_value(data["w"][0]["worker_0"]["tensor_location"])

    def test_it_is_not_waited_for_longer_than_the_variable_says(self, run, monkeypatch):
        monkeypatch.setenv("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", "0")
        where = TensorLocation(
            "w", modes.TRAIN, 2, f"{run}/events/20/20_worker_0.tfevents", 0, 9, ""
        )

        with pytest.raises(TensorUnavailableForStep):
            LocalIndexReader(str(run)).fetch_tensor_value(where)

    @pytest.mark.parametrize("text", ["", "{", "{}", '{"meta": {}}', '{"meta": {"mode": "TRAIN"}}'])
    def test_a_damaged_index_is_refused(self, run, text):
        (run / "index/000000000/000000000010_worker_0.json").write_text(text)

        with pytest.raises(IndexReaderException):
            LocalIndexReader(str(run)).load_tensor_data_from_index_files()

    def test_the_files_that_were_read_are_forgotten_behind_the_key(self):
        """But none from which on the next listing goes."""
        cache = ReadIndexFilesCache()
        for number in range(1002):
            cache.add(f"{number:04d}", "0500")

        assert not cache.has_not_read("0500")
        assert cache.has_not_read("0499")


class TestFiles:
    def test_a_file_is_read_in_parts(self, tmp_path):
        path = str(tmp_path / "new" / "file")
        file = TSAccessFile(path, "wb")
        assert [[0, 3], [3, 2]] == [file.write(b"abc"), file.write(b"de")]
        assert not os.path.exists(path)
        file.close()
        file = TSAccessFile(path, "rb")
        file.ingest_all()

        assert (b"abc", True) == (file.read(3), file.has_data())
        with pytest.raises(SMDebugError):
            file.read(3)
        assert (b"de", False) == (file.read(2), file.has_data())
        file.close()

    def test_one_process_claims_a_run(self, tmp_path):
        path = str(tmp_path / "run")
        claims = [is_first_process(path), is_first_process(path)]
        remove_claim_file(path)

        assert [True, False, True] == [*claims, is_first_process(path)]
        assert is_first_process("s3://bucket/run")

    def test_a_hook_of_a_simulated_job_has_its_configuration(self, tmp_path, monkeypatch):
        """As smdebug's tests of scripts without changes do it."""
        monkeypatch.setattr(SagemakerSimulator, "__init__", _simulator_in(tmp_path))
        config = json.dumps({"LocalPath": str(tmp_path / "tensors"), "HookParameters": {}})
        with SagemakerSimulator(json_file_contents=config):
            hook = smd.Hook.create_from_json_file()
            assert str(tmp_path / "tensors") == hook.out_dir
            assert "sm_job" == os.environ["TRAINING_JOB_NAME"]
            hook.close()

        assert "TRAINING_JOB_NAME" not in os.environ


def _simulator_in(folder):
    """Return a constructor that keeps off the folders of a machine of SageMaker."""
    made = SagemakerSimulator.__init__

    def init(self, **options):
        made(self, json_config_path=str(folder / "hook.json"), cleanup=True, **options)
        self.out_dir = str(folder / "tensors")
        self.tb_json_config_path = str(folder / "board.json")

    return init


class TestSmallParts:
    def test_an_error_disables_what_has_its_defaults(self):
        """Training goes on; what a user configured raises."""
        agent = ErrorHandlingAgent.get_error_handling_agent()
        assert agent is ErrorHandlingAgent.get_error_handling_agent()
        fresh = type(agent)()
        calls = []

        @fresh.catch_smdebug_errors(default_return_val=lambda x: -x)
        def fails(x):
            calls.append(x)
            raise KeyError(x)

        assert [-1, -2] == [fails(1), fails(2)]
        assert [1] == calls
        fresh.disable_smdebug = False
        fresh.set_hook(type("Hook", (), {"has_default_configuration": lambda _: False})())
        with pytest.raises(KeyError):
            fails(3)

    def test_reductions_of_tensors_are_tensors(self):
        torch = pytest.importorskip("torch")
        values = torch.tensor([[3.0, -4.0], [0.0, 1.0]])

        assert 8.0 == get_reduction_of_data("l1", values, "w").item()
        assert 26**0.5 == pytest.approx(get_reduction_of_data("l2", values, "w").item())
        assert 2.0 == get_reduction_of_data("mean", values, "w", abs=True).item()
        assert 2.0 == get_reduction_of_data("mean", values.numpy(), "w", abs=True)
        assert values.var().item() == get_reduction_of_data("variance", values, "w").item()

    def test_collections_of_frameworks_have_their_patterns(self):
        assert "hyperparameters" in XGBoostCollections().collections
        assert {} == XGBoostCollections(create_default=False).collections
        keras = KerasCollections()
        keras.get("own").add_keras_layer(type("Layer", (), {"name": "dense"}), inputs=True)
        assert ["dense/inputs/", "dense/outputs/"] == keras.get("own").include_regex

    def test_workers_are_counted_with_their_chief(self):
        cluster = {"cluster": {"worker": ["a", "b"], "chief": ["c"]}}

        assert [3, 3] == [get_num_workers_from_tf_config(cluster) for _ in range(2)]

    @pytest.mark.parametrize("text", ["", "[]", "{", "[" * 5000, '"x"'])
    def test_a_profiler_configuration_that_cannot_be_read_disables_all(
        self, tmp_path, monkeypatch, text
    ):
        (tmp_path / "config.json").write_text(text)
        monkeypatch.setenv("SMPROFILER_CONFIG_PATH", str(tmp_path / "config.json"))

        assert not ProfilerConfigParser().profiling_enabled
