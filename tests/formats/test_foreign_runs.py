"""What others log is read as runs: tables and event files; trackers have an environment."""

from __future__ import annotations

import json
import math
import sqlite3

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from torch.utils.tensorboard import SummaryWriter

from stepwatch.errors import CorruptRun, RunNotFound
from stepwatch.formats.foreign.series import tensor_of
from stepwatch.model.steps import Mode
from stepwatch.testing import make_run
from stepwatch.trial import Trial
from stepwatch.trial.run_listing import find_runs
from tests.support.cli.command_fixtures import verb

__all__ = ["verb"]


class TestNames:
    @pytest.mark.parametrize(
        ("name", "tensor", "mode"),
        [
            ("loss", "loss/loss", Mode.TRAIN),
            ("train_loss", "loss/loss", Mode.TRAIN),
            ("train/loss_step", "loss/loss_step", Mode.TRAIN),
            ("eval/loss", "loss/loss", Mode.EVAL),
            ("val_loss", "loss/loss", Mode.EVAL),
            ("Loss/test", "loss/Loss", Mode.EVAL),
            ("val/accuracy", "metric/accuracy", Mode.EVAL),
            ("lr", "learning_rate/lr", Mode.TRAIN),
            ("optim/learning_rate", "learning_rate/optim.learning_rate", Mode.TRAIN),
            ("grad_norm", "metric/grad_norm", Mode.TRAIN),
            ("loss_scale", "metric/loss_scale", Mode.TRAIN),
            ("metrics/train/loss", "loss/loss", Mode.TRAIN),
            ("loss/mse_loss", "loss/mse_loss", Mode.TRAIN),
            ("loss/kl", "metric/loss/kl", Mode.TRAIN),
            ("latest/value", "metric/latest/value", Mode.TRAIN),
        ],
    )
    def test_names_of_others_stand_for_tensors(self, name, tensor, mode):
        """Losses and rates are what rules take them for; the rest stays what it is called."""
        found, its_mode = tensor_of(name)

        assert (tensor, mode) == (found.name, its_mode)

    def test_losses_of_policies_need_not_fall(self, tmp_path):
        """Where rewards are logged, no series is the loss of a training."""
        rows = [{"step": n, "loss": 0.1, "reward": 1.0 * n} for n in range(4)]
        (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))

        assert ["metric/loss", "metric/reward"] == Trial(tmp_path).tensor_names()


class TestTables:
    def test_lines_of_verl_hold_their_values_within_data(self, tmp_path):
        lines = [{"step": n, "data": {"critic/score/mean": 0.5 * n}} for n in range(3)]
        (tmp_path / "exp.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"step": 3, "da')
        trial = Trial(tmp_path / "exp.jsonl")

        assert [0, 1, 2] == trial.steps()
        assert [0.0, 0.5, 1.0] == (
            trial.tensor("metric/critic/score/mean").statistics()["mean"].tolist()
        )

    def test_numbers_that_are_none_are_kept(self, tmp_path):
        """NaN is what a rule looks for."""
        (tmp_path / "metrics.csv").write_text("step,loss,val_loss\n0,1.0,\n1,nan,\n2,,0.5\n")
        trial = Trial(tmp_path)
        series = trial.tensor("loss/loss").statistics("TRAIN")

        assert ([0, 1], [0, 1]) == (trial.steps("TRAIN"), series["nan"].tolist())
        assert [2] == trial.steps("EVAL")

    @pytest.mark.parametrize("run_name", ["custom_run_id", "run_id"])
    def test_an_export_of_neptune_holds_several_runs(self, tmp_path, run_name):
        """Each named after the file and its own name; without one the names are listed."""
        count = 4
        table = pa.table(
            {
                "project_id": ["me/p"] * 2 * count,
                run_name: ["RUN-1"] * count + ["RUN-2"] * count,
                "attribute_path": ["metrics/loss", "lr"] * count,
                "attribute_type": ["float_series"] * 2 * count,
                "step": pa.array([n // 2 for n in range(2 * count)], pa.decimal128(18, 6)),
                "timestamp": pa.array([0] * 2 * count, pa.timestamp("ms", "UTC")),
                "float_value": [float(n) for n in range(2 * count)],
                "string_value": pa.nulls(2 * count, pa.string()),
            }
        )
        pq.write_table(table, tmp_path / "part.parquet")
        file = tmp_path / "part.parquet"

        assert ["part.parquet#RUN-1", "part.parquet#RUN-2"] == find_runs(str(tmp_path))
        assert [2, 3] == Trial(f"{file}#RUN-2").steps()
        assert ["learning_rate/lr", "loss/loss"] == Trial(f"{file}#RUN-2").tensor_names()
        with pytest.raises(RunNotFound, match=r"2 runs lie in .*#RUN-1"):
            Trial(file)
        with pytest.raises(RunNotFound, match="did you mean RUN-"):
            Trial(f"{file}#RUN-3")

    def test_a_table_with_a_row_for_each_step_is_a_run(self, tmp_path):
        pq.write_table(pa.table({"step": [0, 5], "loss": [2.0, 1.0]}), tmp_path / "x.parquet")

        assert [0, 5] == Trial(tmp_path).steps()

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("data.csv", "age,income\n3,4\n"),
            ("text.csv", "step\n1\n"),
            ("chat.jsonl", '{"messages": []}\n'),
            ("broken.jsonl", "{\n"),
            ("x.parquet", "PAR1"),
            ("x.db", "SQLite format 3\x00"),
            ("a.wandb", "nothing"),
        ],
    )
    def test_what_only_has_the_name_is_no_run(self, tmp_path, name, text):
        """A folder of data is not listed as one of runs; what is damaged says so."""
        (tmp_path / name).write_text(text)
        try:
            Trial(tmp_path)
        except (RunNotFound, CorruptRun):
            pass
        else:
            pytest.fail("it was opened")

    def test_a_state_that_is_none_is_damaged(self, tmp_path):
        (tmp_path / "trainer_state.json").write_text("[]")
        with pytest.raises(CorruptRun, match="not the state of a trainer"):
            Trial(tmp_path)

    def test_a_database_of_others_is_no_run(self, tmp_path):
        with sqlite3.connect(tmp_path / "notes.db") as rows:
            rows.execute("CREATE TABLE metrics (a, b)")
        with pytest.raises(RunNotFound):
            Trial(tmp_path)


@pytest.fixture
def board(tmp_path):
    """A folder into which torch wrote scalars, at every tenth step."""
    with SummaryWriter(tmp_path / "board") as writer:
        for step in range(0, 300, 10):
            writer.add_scalar("train/loss", math.exp(-step / 100), step)
            writer.add_histogram("fc.weight", np.linspace(-1, 1, 5), step)
    return tmp_path / "board"


class TestEventFiles:
    def test_histograms_are_tensors_with_the_statistics_that_are_known(self, board):
        series = Trial(board).tensor("tensor/fc.weight").statistics()

        assert (5, -1.0, 1.0, 2.5) == tuple(
            series[name][0] for name in ("count", "min", "max", "sum_sq")
        )
        assert math.isnan(series["sum_abs"][0])
        assert [0.0, math.sqrt(0.5)] == pytest.approx([series[one][0] for one in ("mean", "std")])

    @pytest.mark.slow
    def test_a_file_that_is_cut_off_anywhere_shows_what_is_before(self, board):
        """As while it is being written."""
        (file,) = board.iterdir()
        data = file.read_bytes()
        counts = []
        for size in range(0, len(data), 97):
            file.write_bytes(data[:size])
            counts.append(len(Trial(board).steps()))

        assert counts == sorted(counts)
        assert 0 == counts[0] < counts[-1] <= 30

    def test_it_goes_on_while_it_grows(self, board):
        """A trial shows what was added; a run whose files are old has ended."""
        import os

        (file,) = board.iterdir()
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2])
        trial = Trial(board)
        before, running = len(trial.steps()), trial.state
        file.write_bytes(data)
        os.utime(file, (1, 1))
        trial.refresh()

        assert ("running", "finished", 30) == (running, trial.state, len(trial.steps()))
        assert before < 30


class TestVerbs:
    def test_a_run_converted_for_tensorboard_is_one_run(self, verb, tmp_path):
        """Though each mode has a folder of its own; losses are losses again."""
        rows = [{"step": n, "loss": 1.0 / (n + 1), "eval_loss": 1.0} for n in range(4)]
        (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
        verb("convert", tmp_path, tmp_path / "board", "--to", "tensorboard")
        assert {"TRAIN", "EVAL"} == {one.name for one in (tmp_path / "board").iterdir()}

        assert [""] == find_runs(str(tmp_path / "board"))
        trial = Trial(tmp_path / "board")
        assert (["loss/loss"], 4, 4) == (
            trial.tensor_names(),
            len(trial.steps("TRAIN")),
            len(trial.steps("EVAL")),
        )

    def test_the_runs_in_a_file_are_listed(self, verb, tmp_path):
        """As they are named elsewhere, after the name of the file."""
        table = {"run_id": ["a", "b"], "attribute_path": ["loss"] * 2, "step": [0.0] * 2}
        file = tmp_path / "runs.parquet"
        pq.write_table(pa.table({**table, "float_value": [1.0, 2.0]}), file)
        status, out, err = verb("runs", file, "--json")

        assert (0, ["#a", "#b"]) == (status, [one["run"] for one in json.loads(out)["runs"]]), err

    def test_runs_of_others_stand_beside_ours(self, verb, board, tmp_path):
        make_run(tmp_path / "ours", steps=3)
        status, out, _ = verb("runs", tmp_path, "--json")

        assert (0, ["board", "ours"]) == (status, [one["run"] for one in json.loads(out)["runs"]])

    def test_check_says_what_to_record_to_know_more(self, verb, board):
        """Only scalars were logged."""
        status, out, _ = verb("check", board)

        assert 0 == status
        assert "only scalars were logged here" in out
        assert "stepwatch run train.py" in out

    def test_a_run_of_others_is_converted_and_shown(self, verb, board, tmp_path):
        """The copy is a run like every other, and equal to what it was made from."""
        status, _, err = verb("convert", board, tmp_path / "copy", "--to", "native")
        shown, out, _ = verb("show", board, "--tensor", "loss/loss", "--json")
        same, diff, _ = verb("diff", board, tmp_path / "copy")

        assert (0, 0) == (status, shown), err
        assert 30 == len(json.loads(out)["series"]["loss/loss"]["steps"])
        assert 0 == same, diff

    def test_nothing_is_written_beside_what_others_logged(self, verb, board):
        before = sorted(board.rglob("*"))
        verb("check", board)
        verb("show", board)

        assert before == sorted(board.rglob("*"))
