"""Which runs lie at a place, and how each stands at a glance."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stepwatch import Trial
from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.manifest import End, Manifest
from stepwatch.model.steps import Mode
from stepwatch.store import open_store
from stepwatch.testing import make_record, make_run
from stepwatch.trial.run_listing import find_runs, summarize_at, summarize_run, training_starts


class TestTrainings:
    @pytest.mark.parametrize(
        ("spans", "starts"),
        [
            ({"0.w": (0, 4), "Net_2.w": (5, 9), "Net_3.w": (10, 12)}, [0, 5, 10]),
            ({"g.w": (0, 8), "d.w": (1, 9)}, [0]),
            ({"body.w": (0, 9), "head.w": (0, 4), "new.w": (5, 9)}, [0]),
            ({}, []),
        ],
        ids=["folds", "in turn", "a new head", "no gradients"],
    )
    def test_one_begins_where_the_model_of_the_one_before_is_trained_no_more(self, spans, starts):
        url = f"memory://trainings-{len(spans)}-{len(starts)}-{'g.w' in spans}"
        writer = open_writer(RunTarget(open_store(url), "worker_0", Manifest("a", 1)))
        for step in range(13):
            held = [name for name, (first, last) in spans.items() if first <= step <= last]
            values = {f"gradient/{name}": np.ones(2) for name in held}
            writer.write(make_record(step, {"loss/L": 1.0, **values}))
        writer.close(End("finished", 2))

        assert starts == training_starts(Trial(url))


class TestRunsAt:
    def test_runs_lie_however_deep(self, tmp_path):
        """Of either format; what is within a run is no run."""
        for name, kind in (("a", "native"), ("b/c", "smdebug"), ("b/d", "native")):
            make_run(tmp_path / name, steps=2, format=kind)
        (tmp_path / "empty").mkdir()

        assert ["a", "b/c", "b/d"] == find_runs(str(tmp_path))
        assert [""] == find_runs(str(tmp_path / "a"))

    def test_a_place_without_runs_has_none(self, tmp_path):
        """Also one that is not there."""
        assert [] == find_runs(str(tmp_path)) == find_runs(str(tmp_path / "nowhere"))

    @pytest.mark.parametrize("kind", ["native", "smdebug"])
    def test_in_a_store_they_are_found_by_their_keys(self, kind):
        """One listing tells all."""
        single = open_store(make_run(f"memory://single-{kind}", steps=2, format=kind))
        many = open_store(f"memory://many-{kind}")
        for key in single.list():
            many.put(f"jobs/one/{key}", single.get(key))

        assert ["jobs/one"] == find_runs(many.url)
        assert [""] == find_runs(single.url)


class TestGlance:
    def test_it_tells_the_last_training_loss(self):
        """Not that of an evaluation that came after."""
        store = open_store("memory://glanced")
        writer = open_writer(RunTarget(store, "worker_0", Manifest("glanced", 7, ("train.py",))))
        for step in range(5):
            mode = Mode.EVAL if step == 4 else Mode.TRAIN
            loss = {"loss/mse": np.float32(10 - step)}
            writer.write(make_record(step, loss, mode=mode, mode_step=step % 4))
        writer.close(End("finished", 9, 5))
        found = summarize_run(Trial(store))

        assert ("finished", 5, 7.0, 0, 7) == (
            found.state,
            found.steps,
            found.last_loss,
            found.findings,
            found.started_ns,
        )
        assert found.rate is not None

    def test_its_rate_counts_every_step(self):
        """Also those at which nothing but the loss was stored; ten steps took a second each."""
        store = open_store("memory://thinned")
        writer = open_writer(RunTarget(store, "worker_0", Manifest("thinned", 7, ("train.py",))))
        for step in range(11):
            arrays = {"loss/mse": np.float32(1)}
            if step % 5 == 0:
                arrays["a.weight"] = np.ones(3, np.float32)
            writer.write(replace(make_record(step, arrays), time_ns=step * 1_000_000_000))
        writer.close(End("finished", 9, 11))

        assert 1.0 == summarize_run(Trial(store)).rate

    def test_its_rate_is_known_where_the_last_steps_have_no_loss(self):
        """As those of a last evaluation: all steps count, from the first to the last."""
        store = open_store("memory://evaluated")
        writer = open_writer(RunTarget(store, "worker_0", Manifest("evaluated", 7, ("train.py",))))
        for step in range(11):
            arrays = {"loss/mse": np.float32(1)} if step < 6 else {"output/fc": np.ones(3)}
            mode = Mode.TRAIN if step < 6 else Mode.EVAL
            record = make_record(step, arrays, mode=mode, mode_step=step % 6)
            writer.write(replace(record, time_ns=step * 2_000_000_000))
            if step == 5:
                writer.flush()
        writer.close(End("finished", 9, 11))

        assert 0.5 == summarize_run(Trial(store)).rate

    def test_a_run_without_steps_says_nothing(self):
        """It has only begun."""
        store = open_store("memory://begun")
        writer = open_writer(RunTarget(store, "worker_0", Manifest("begun", 7, ("train.py",))))
        found = summarize_run(Trial(store))
        writer.close(End("finished", 9, 0))

        assert (0, None, None) == (found.steps, found.rate, found.last_loss)


class TestManyRunsOfOthers:
    """A folder of a thousand is listed by what stands at the end of each file."""

    LINES = 40_000

    def logs(self, folder, kind):
        """Write a long run as others log it; return its file."""
        rows = range(self.LINES)
        if kind == "csv":
            path = folder / "metrics.csv"
            path.write_text("step,loss\n" + "".join(f"{n},{1 / (n + 1)}\n" for n in rows))
        elif kind == "json":
            path = folder / "log.jsonl"
            path.write_text("".join(f'{{"step": {n}, "loss": {1 / (n + 1)}}}\n' for n in rows))
        elif kind == "events":
            path = folder / "events.out.tfevents.1.host"
            path.write_bytes(b"".join([_framed(b"\x1a\rbrain.Event:2"), *map(_event, rows)]))
        else:
            path = folder / "run-long.wandb"
            path.write_bytes(_wandb_log(map(_history, rows)))
        return path

    @pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="counts what Linux has read")
    @pytest.mark.parametrize("kind", ["csv", "json", "events", "wandb"])
    def test_the_end_of_a_file_is_read(self, tmp_path, kind):
        path = self.logs(tmp_path, kind)
        summarize_at(str(tmp_path))  # what is imported for it was read by then
        before = _bytes_read()
        summary = summarize_at(str(tmp_path))
        read = _bytes_read() - before

        assert self.LINES == summary.steps
        assert summary.last_loss == pytest.approx(1 / self.LINES, rel=1e-5)
        assert read < path.stat().st_size / 6

    def test_a_line_longer_than_the_end_is_read_whole(self, tmp_path):
        text = "x" * 50_000
        rows = [{"step": n, "loss": 1.0, "text": text} for n in range(30)]
        (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))

        assert 30 == summarize_at(str(tmp_path)).steps

    def test_an_event_file_that_is_cut_off_is_read_up_to_there(self, tmp_path):
        path = self.logs(tmp_path, "events")
        path.write_bytes(path.read_bytes()[:-3])

        assert self.LINES - 1 == summarize_at(str(tmp_path)).steps


def _bytes_read():
    line = Path("/proc/self/io").read_text().partition("\n")[0]
    return int(line.split()[1])


def _varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _field(number, payload):
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _framed(record):
    return struct.pack("<Q", len(record)) + bytes(4) + record + bytes(4)


def _event(step):
    value = _field(1, b"loss") + b"\x15" + struct.pack("<f", 1 / (step + 1))
    return _framed(b"\x10" + _varint(step) + _field(5, _field(1, value)))


def _history(step):
    items = {b"loss": b"%.9f" % (1 / (step + 1)), b"_step": b"%d" % step}
    return _field(2, b"".join(_field(1, _field(1, k) + _field(16, v)) for k, v in items.items()))


def _wandb_log(records):
    """Return records in blocks of 32 KiB, parted where a block ends."""
    log = bytearray(b":W&B" + bytes(3))
    for record in records:
        is_first = True
        while is_first or record:
            if (left := 32768 - len(log) % 32768) < 7:
                log += bytes(left)
                continue
            part, record = record[: left - 7], record[left - 7 :]
            kind = (2 if record else 1) if is_first else (3 if record else 4)
            log += bytes(4) + struct.pack("<HB", len(part), kind) + part
            is_first = False
    return bytes(log)
