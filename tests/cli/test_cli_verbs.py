"""The verbs on a run: runs, show, check, watch, compact, convert."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from stepwatch import Trial
from stepwatch.formats.findings import read_findings, write_findings
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.model.finding import Finding
from stepwatch.model.steps import Mode
from stepwatch.numerics.exponents import count_exponents
from stepwatch.store import open_store
from stepwatch.testing.made_runs import make_record, make_run
from tests.support import fork_server
from tests.support.cli.commands import STEPWATCH, environment
from tests.support.looked_at import begin, judge


class TestRuns:
    def test_they_are_listed_with_how_they_went(self, verb, spoiled):
        """State, steps, last loss and findings; as JSON the same."""
        folder, _, _ = spoiled
        status, out, _ = verb("runs", folder)
        assert 0 == status
        assert "finished" in out

        (row,) = json.loads(verb("runs", folder, "--json")[1])["runs"]
        assert ("run", "finished", 8) == (row["run"], row["state"], row["steps"])
        assert row["findings"] >= 1

    def test_no_folder_and_no_runs_are_told_apart(self, verb, tmp_path):
        """A place that is not there is an error; one that is empty is empty."""
        assert 2 == verb("runs", tmp_path / "nowhere")[0]
        assert (
            0,
            f"no runs in {tmp_path}; they are made by: stepwatch run train.py\n",
            "",
        ) == verb("runs", tmp_path)

    def test_a_broken_run_does_not_hide_the_others(self, verb, tmp_path):
        """It is listed as unreadable."""
        make_run(tmp_path / "good")
        (tmp_path / "bad").mkdir()
        (tmp_path / "bad/run.json").write_text("{")
        status, out, _ = verb("runs", tmp_path)

        assert 0 == status
        assert "unreadable" in out
        assert "finished" in out


class TestShow:
    def test_a_run_is_shown_with_its_findings(self, verb, spoiled):
        """What it was, what is in it, what was found."""
        folder, _, _ = spoiled
        status, out, _ = verb("show", folder / "run")

        assert 0 == status
        for expected in ("train.py", "4 of 4 parameters", "loss/", "non_finite_origin"):
            assert expected in out

    def test_the_loss_that_the_headline_names_is_drawn_first(self, verb, tmp_path):
        """And its finding is marked at no other."""
        writer = begin(tmp_path / "run")
        for step in range(20):
            losses = ("loss/a", "loss/b", "loss/c")
            writer.write(make_record(step, dict.fromkeys(losses, np.float32(step))))
        writer.close(End("finished", 1, 20))
        spike = Finding("loss_spike", 9, "loss/c", "high", mode="TRAIN", mode_step=9)
        judge(open_store(tmp_path / "run"), [spike])
        _, out, _ = verb("show", tmp_path / "run")

        assert ["loss/c", "loss/a"] == re.findall(r"^(loss/\w)  mean", out, re.MULTILINE)
        assert 1 == out.count("▲ step 9") + out.count("^ step 9")

    def test_a_tensor_is_shown_and_a_wrong_one_suggested(self, verb, spoiled):
        """The statistics of some steps; for a typo the nearest name."""
        folder, _, _ = spoiled
        assert (
            "gradient/0.weight" in verb("show", folder / "run", "--tensor", "gradient/0.weight")[1]
        )

        status, out, err = verb("show", folder / "run", "--tensor", "gradent/0.weight")
        assert (2, "", 1) == (status, out, len(err.splitlines()))
        assert "did you mean gradient/0.weight" in err

    @pytest.mark.parametrize("value", [np.inf, np.nan])
    def test_the_step_of_a_finding_is_shown_with_its_value(self, value, verb, tmp_path):
        """Whichever rows are left out; an infinite value is infinite and nan is nan, never 0."""
        store = open_store(tmp_path / "run")
        start_run(store, Manifest("made", 0))
        writer = NativeWriter(store, "worker_0")
        for step in range(101):
            norm = value if step == 71 else 1.0
            writer.write(make_record(step, {"optimizer/max_norm": np.float64(norm)}))
        writer.close(End("finished", 1, 101))
        finding = Finding("exploding_tensor", 71, "optimizer/max_norm", "infinite")
        write_findings(store, "worker_0", [finding.to_json()])
        _, out, _ = verb("show", tmp_path / "run", "--tensor", "optimizer/max_norm")
        heads, row = [
            line.split() for line in out.splitlines() if line.split()[:1] in (["step"], ["71"])
        ]
        shown = dict(zip(heads, row, strict=True))

        assert ["TRAIN", *[str(value)] * 5] == [
            shown[what] for what in ("mode", "mean", "abs_mean", "l2", "min", "max")
        ]

    def test_steps_are_counted_as_the_training_counts_them(self, verb, tmp_path):
        """Evaluations in between count for nothing, in the table as in the plot."""
        store = open_store(tmp_path / "run")
        start_run(store, Manifest("made", 0))
        writer = NativeWriter(store, "worker_0")
        for step in range(6):
            mode, mode_step = (Mode.EVAL, step - 2) if 2 <= step < 4 else (Mode.TRAIN, step)
            mode_step = mode_step - 2 if step >= 4 else mode_step
            record = make_record(step, {"w": np.ones(2)}, mode=mode, mode_step=mode_step)
            writer.write(replace(record, digests={"w": 0xABC}))
        writer.close(End("finished", 1, 6))
        lines = verb("show", tmp_path / "run", "--tensor", "w")[1].splitlines()
        rows = [line.split()[:2] for line in lines if " " in line.strip()]

        trained, evaluated = (
            [step for step, mode in rows if mode == which] for which in ("TRAIN", "EVAL")
        )
        assert (["0", "1", "2", "3"], ["2", "2"]) == (trained, evaluated)
        assert ["3", 13 * "0" + "abc"] in rows
        assert ["0", "step", "3"] in [line.split() for line in lines]

    def test_each_worker_has_its_rows_and_its_plot(self, verb, tmp_path):
        """Drawn together, their values would be one line that goes to and fro."""
        store = open_store(tmp_path / "run")
        start_run(store, Manifest("made", 0, num_workers=2))
        for number in range(2):
            writer = NativeWriter(store, f"worker_{number}")
            for step in range(40):
                value = {"gradient/w": np.full(2, 1.0 + number + step / 100)}
                writer.write(make_record(step, value, worker=f"worker_{number}"))
            writer.close(End("finished", 1, 40))
        lines = verb("show", tmp_path / "run", "--tensor", "gradient/w")[1].splitlines()
        rows = [line.split()[:4] for line in lines]

        assert ["step", "mode", "worker", "mean"] == rows[1]
        assert [["0", "TRAIN", "worker_0", "1"], ["0", "TRAIN", "worker_1", "2"]] == rows[2:4]
        assert ["gradient/w  worker_0  rms", "gradient/w  worker_1  rms"] == [
            line for line in lines if line.endswith("rms")
        ]

    def test_json_is_one_document(self, verb, spoiled):
        """With series where tensors were asked for."""
        folder, _, _ = spoiled
        shown = json.loads(verb("show", folder / "run", "--json", "--tensor", "loss/mse_loss")[1])

        assert 8 == len(shown["series"]["loss/mse_loss"]["mean"]) == shown["steps"]["TRAIN"]
        assert "non_finite_origin" in [finding["rule"] for finding in shown["findings"]]

    def test_digests_are_shown_beside_each_other(self, verb, tmp_path):
        """Of every worker a column, so that replicas that went apart are seen."""
        store = open_store(tmp_path / "run")
        start_run(store, Manifest("made", 0, num_workers=2))
        for worker in ("worker_0", "worker_1"):
            writer = NativeWriter(store, worker)
            for step in range(2):
                record = make_record(step, {"w": np.ones(2)}, worker=worker)
                differs = step and worker == "worker_1"
                writer.write(replace(record, digests={"w": 0xBAD if differs else 0xABC}))
            writer.close(End("finished", 1, 2))
        lines = verb("show", tmp_path / "run", "--tensor", "w")[1].splitlines()

        assert ["0", 13 * "0" + "abc", 13 * "0" + "abc"] in [line.split() for line in lines]
        assert ["1", 13 * "0" + "abc", 13 * "0" + "bad"] in [line.split() for line in lines]

    def test_json_tells_digests_and_exponents(self, verb, tmp_path):
        """An entry for each row, none where it was not saved; digests as they are shown."""
        store = open_store(tmp_path / "run")
        start_run(store, Manifest("made", 0))
        writer = NativeWriter(store, "worker_0")
        bins = count_exponents(np.ones(2, np.float32))
        record = make_record(0, {"w": np.ones(2)})
        writer.write(replace(record, digests={"w": 0xABC}, exponents={"w": bins}))
        writer.write(make_record(1, {"w": np.ones(2)}))
        writer.close(End("finished", 1, 2))
        shown = json.loads(verb("show", tmp_path / "run", "--json", "--tensor", "w")[1])
        series = shown["series"]["w"]

        assert [13 * "0" + "abc", None] == series["digests"]
        assert [bins.tolist(), None] == series["exponents"]
        assert (["worker_0"] * 2, [0, 1]) == (series["workers"], series["steps"])

    def test_no_run_is_one_clear_line(self, verb, tmp_path):
        """Exit status 2."""
        status, out, err = verb("show", tmp_path)
        assert (2, "", 1) == (status, out, len(err.splitlines()))


class TestCheck:
    def test_it_finds_what_was_found_live(self, verb, spoiled):
        """Exit status 1, and the very same findings."""
        folder, _, _ = spoiled
        status, out, _ = verb("check", folder / "run", "--json")
        checked = json.loads(out)

        assert 1 == status
        stored = [json.loads(line) for line in read_findings(Trial(folder / "run").store)]
        assert stored == checked["findings"]
        assert 8 == checked["steps"]

    def test_it_finds_nothing_where_nothing_is(self, verb, tmp_path):
        """Exit status 0, and it says so."""
        make_run(tmp_path / "run", steps=20)
        status, out, _ = verb("check", tmp_path / "run", "--rules", "exploding_tensor")

        assert 0 == status
        assert out.startswith("– No problem seen in 20 steps, 1 check passed\n  not checked:")

    def test_a_wrong_rule_is_one_clear_line(self, verb, tmp_path):
        """Exit status 2, before the run is opened."""
        status, out, err = verb("check", tmp_path / "nowhere", "--rules", "overfitt")
        assert (2, "", 1) == (status, out, len(err.splitlines()))
        assert "overfit" in err


class TestCompact:
    def test_nothing_is_lost(self, verb, spoiled, tmp_path):
        """Fewer parts, the same numbers."""
        make_run(tmp_path / "run", steps=50)
        before = Trial(tmp_path / "run").tensor("loss/mse_loss").statistics()["mean"].tolist()
        status, out, _ = verb("compact", tmp_path / "run")

        assert 0 == status
        assert "1 now" in out
        after = Trial(tmp_path / "run").tensor("loss/mse_loss").statistics()["mean"].tolist()
        assert before == after


class TestWatch:
    def test_it_follows_a_live_run_from_another_process(self, write, tmp_path):
        """It begins while the script waits, and finds what the run itself finds."""
        script = write("train(8, spoiled=4, then=input)\n")
        run = fork_server.Popen(
            [STEPWATCH, "run", "--run", "r", script], cwd=tmp_path, env=environment(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        watch = fork_server.Popen(
            [STEPWATCH, "watch", "r", "--wait", "60"], cwd=tmp_path, env=environment(),
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        first = watch.stdout.readline()
        run.communicate("\n", timeout=60)
        told, _ = watch.communicate(timeout=60)

        trial = Trial(tmp_path / "r")
        found = [json.loads(line) for line in read_findings(trial.store)]
        assert first.startswith("watching ")
        assert (0, 1) == (run.returncode, watch.returncode)
        assert found
        assert all(finding["message"] in told for finding in found)
        assert "  -v lists what lacked data" == told.splitlines()[-1]

    def test_a_run_that_never_comes_is_one_clear_line(self, verb, tmp_path):
        """Exit status 2."""
        status, out, err = verb("watch", tmp_path / "nowhere")
        assert (2, "", 1) == (status, out, len(err.splitlines()))


class TestTheCommand:
    def test_every_verb_explains_itself(self, verb):
        """Help names what it takes, and exits with 0."""
        for name in ("run", "runs", "show", "check", "watch", "compact"):
            status, out, _ = verb(name, "--help")
            assert 0 == status
            assert "Usage: stepwatch" in out

    def test_an_unknown_verb_is_refused(self, verb):
        """Exit status 2."""
        assert 2 == verb("shwo")[0]


class TestConvert:
    def test_a_run_is_written_in_the_other_format_and_opens_there(self, verb, tmp_path):
        """And says how much that was."""
        run = make_run(tmp_path / "run", steps=3, raw=True)
        status, out, _ = verb("convert", run, tmp_path / "old", "--to", "smdebug")

        assert 0 == status
        assert f"{tmp_path}/old: 3 steps of 5 tensors in the smdebug format\n" == out
        assert [0, 1, 2] == Trial(tmp_path / "old").steps()
        assert (tmp_path / "old/index/000000000/000000000002_worker_0.json").is_file()

    def test_the_runs_of_a_folder_keep_their_names(self, verb, tmp_path):
        """One that is in that format already is told, and ends none of the others."""
        for name in ("one/a", "two/a"):
            make_run(tmp_path / "runs" / name, steps=3)
        make_run(tmp_path / "runs/old", steps=3, format="smdebug")
        asked = ("--to", "smdebug", "--json")
        status, out, err = verb("convert", tmp_path / "runs", tmp_path / "new", *asked)

        assert 2 == status
        assert [f"{tmp_path}/new/{name}" for name in ("one/a", "two/a")] == [
            one["destination"] for one in json.loads(out)["runs"]
        ]
        assert [0, 1, 2] == Trial(tmp_path / "new/two/a").steps()
        assert "runs/old is in the smdebug format already" in err

    def test_what_is_lost_is_listed(self, verb, tmp_path):
        """For machines as well."""
        run = make_run(tmp_path / "run", steps=3)
        out = verb("convert", run, tmp_path / "board", "--to", "tensorboard", "--json")[1]
        (lost,) = json.loads(out)["not_held"]
        assert lost.startswith("statistics other than the l2 norm (4 tensors: gradient/layer0.")

    @pytest.mark.parametrize("target", ["native", "nothing"])
    def test_what_cannot_be_done_is_told_and_writes_nothing(self, verb, tmp_path, target):
        """The same format, and one that is not there."""
        run = make_run(tmp_path / "run", steps=3)
        status, out, err = verb("convert", run, tmp_path / "there", "--to", target)
        assert (2, "") == (status, out)
        assert 1 == len(err.strip().splitlines()[-1:])
        assert not (tmp_path / "there").exists()

    def test_a_taken_place_is_left_as_it_is(self, verb, tmp_path):
        """A run, or anything else."""
        run = make_run(tmp_path / "run", steps=3)
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine/notes.txt").write_text("mine")
        for place in (tmp_path / "mine", run):
            assert 2 == verb("convert", run, place, "--to", "smdebug")[0]
        assert ["notes.txt"] == [path.name for path in (tmp_path / "mine").iterdir()]
        assert [0, 1, 2] == Trial(run).steps()

    def test_nothing_is_left_of_a_conversion_that_failed(self, verb, tmp_path):
        """Half a run would look like one."""
        run = make_run(tmp_path / "run", steps=3)
        part = next((tmp_path / "run/observations").rglob("*.parquet"))
        data = bytearray(part.read_bytes())
        data[len(data) // 3 : len(data) // 3 + 40] = bytes(40)
        part.write_bytes(data)
        status, _, err = verb("convert", run, tmp_path / "there", "--to", "smdebug")

        assert 2 == status
        assert "damaged" in err
        assert [] == [path for path in (tmp_path / "there").rglob("*") if path.is_file()]


class TestVerify:
    def test_a_whole_run_is_one_line(self, verb, tmp_path):
        """It says how much was read."""
        run = make_run(tmp_path / "run", steps=3, raw=True)

        status, out, _ = verb("verify", run)
        assert 0 == status
        assert f"{run}: 4 files and 15 full values read, nothing damaged\n" == out

    def test_what_is_damaged_is_named(self, verb, tmp_path):
        """With tensor, step and place; the status is that of a finding."""
        run = make_run(tmp_path / "run", steps=3, raw=True)
        (path,) = (tmp_path / "run/tensors").rglob("*.safetensors")
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)

        status, out, _ = verb("verify", run)
        assert 1 == status
        assert out.startswith(f"damaged: tensors/worker_0/{path.name} at byte ")
        assert "(step 2, gradient/layer1.weight): the value" in out
        assert "15 full values read, 1 damaged" in out
        (one,) = json.loads(verb("verify", run, "--json")[1])["damaged"]
        assert (2, "gradient/layer1.weight") == (one["step"], one["tensor"])

    def test_no_run_is_one_clear_line(self, verb, tmp_path):
        """Not a run that is whole."""
        status, out, err = verb("verify", tmp_path / "none")
        assert (2, "") == (status, out)
        assert "no run at" in err
