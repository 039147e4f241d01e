"""Runs in plain tables: CSV, JSON lines, the state of a transformers trainer, Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...errors import CorruptRun
from ...store.local import tail
from .series import Logged

#: What the column of steps is called, the likeliest first.
_STEPS = ("step", "global_step", "_step", "train/global_step", "iteration", "iter", "it")
_EPOCHS = ("epoch", "Epoch")
_TIMES = ("timestamp", "time", "_timestamp", "created_at", "wall_time")
_STATE_FILE, _CHECKPOINT = "trainer_state.json", "checkpoint-"
#: Where only the last values matter, so many lines are read, of so many bytes or more.
_LAST_LINES, _TAIL = 32, 4096
#: A line that is longer, or a head, was not written by who logs.
_MOST_LINE = 1 << 20


def _step_name(names: Sequence[str]) -> str:
    """Return which column counts steps, or epochs where none does; ``""`` for none."""
    return next((name for name in (*_STEPS, *_EPOCHS) if name in names), "")


class Csv:
    """CSV with a column of steps or epochs: of Lightning's and Keras' loggers, and of others."""

    def find(self, folder: Path, names: frozenset[str]) -> dict[str, Path]:
        for name in sorted(names, key=lambda one: (one != "metrics.csv", one)):
            if name.endswith((".csv", ".tsv", ".log")) and self._is_log(folder / name):
                return {"": folder / name}
        return {}

    def _is_log(self, file: Path) -> bool:
        try:
            with file.open(encoding="utf-8", newline="") as stream:
                head, first = stream.readline(_MOST_LINE), stream.readline(_MOST_LINE)
        except (OSError, UnicodeDecodeError):
            return False
        names = _cells(head)
        return bool(_step_name(names)) and len(names) > 1 and len(_cells(first, head)) == len(names)

    def read(self, path: Path, name: str, *, brief: bool = False) -> Logged:
        del name
        logged = Logged(settings=_flat_yaml(path.with_name("hparams.yaml")))
        with path.open(encoding="utf-8", errors="replace", newline="") as stream:
            head = stream.readline(_MOST_LINE)
            names = _cells(head)
            counts = _step_name(names)
            lines = _last_lines(path, skip=1) if brief else stream
            for cells in csv.reader(lines, delimiter=_separator(head)):
                row = dict(zip(names, cells, strict=False))
                _add(logged, row, counts)
        return logged


def _last_lines(file: Path, *, skip: int = 0) -> list[str]:
    """Return the last whole lines of a file, without so many at its beginning."""
    size, data, begin = _TAIL, b"", 1
    while begin and data.count(b"\n") < _LAST_LINES:
        data, begin = tail(file, size)
        size *= 4
    lines = data.decode("utf-8", "replace").split("\n")
    return lines[1 if begin else skip :][-_LAST_LINES - 1 :]


def _separator(head: str) -> str:
    return max(",;\t", key=head.count)


def _cells(line: str, head: str = "") -> list[str]:
    return next(csv.reader([line.rstrip("\r\n")], delimiter=_separator(head or line)), [])


def _flat_yaml(file: Path) -> dict[str, object]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (line.partition(": ") for line in lines if line[:1].strip())
    return {key: value for key, _, value in pairs}


def _add(logged: Logged, row: Mapping[str, object], counts: str) -> None:
    """Add the numbers of a row, under its step."""
    step = _number(row.get(counts))
    if step is None or step != step or abs(step) > 1 << 53:
        return
    when = next((_number(row[name]) for name in _TIMES if row.get(name) is not None), None) or 0.0
    for name, value in row.items():
        number = _number(value)
        if name and name != counts and name not in _TIMES and number is not None:
            logged.add(str(name), int(step), number, when)


def _number(value: object) -> float | None:
    if value is None or isinstance(value, bool) or value == "":
        return None
    if isinstance(value, (int, float, Decimal)):
        return float(value)
    if isinstance(value, str):
        with suppress(ValueError):
            return float(value)
    return None


class JsonLines:
    """One JSON object a line, with a step: verl's file backend, TRL, torchtune and others."""

    def find(self, folder: Path, names: frozenset[str]) -> dict[str, Path]:
        for name in sorted(names):
            if name.endswith((".jsonl", ".ndjson")) and self._is_log(folder / name):
                return {"": folder / name}
        return {}

    def _is_log(self, file: Path) -> bool:
        try:
            with file.open("rb") as stream:
                first = _row(stream.readline(_MOST_LINE))
        except OSError:
            return False
        numbers = [name for name, value in first.items() if isinstance(value, (int, float))]
        return bool(_step_name(list(first))) and len(numbers) > 1

    def read(self, path: Path, name: str, *, brief: bool = False) -> Logged:
        del name
        logged = Logged()
        with path.open("rb") as stream:
            for line in map(str.encode, _last_lines(path)) if brief else stream:
                row = _row(line)
                _add(logged, row, _step_name(list(row)))
        return logged


def _row(line: bytes) -> dict[str, Any]:
    """Return the values of a line; verl has them within ``data``."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    inner = found.pop("data", None)
    return {**found, **inner} if isinstance(inner, dict) else found


class TrainerState:
    """``trainer_state.json``, which transformers' trainer writes beside each checkpoint."""

    def find(self, folder: Path, names: frozenset[str]) -> dict[str, Path]:
        if _STATE_FILE in names:
            return {"": folder / _STATE_FILE}
        numbers = sorted(
            int(name.removeprefix(_CHECKPOINT))
            for name in names
            if name.startswith(_CHECKPOINT) and name.removeprefix(_CHECKPOINT).isdecimal()
        )
        for number in reversed(numbers):
            file = folder / f"{_CHECKPOINT}{number}" / _STATE_FILE
            if file.is_file():
                return {"": file}
        return {}

    def read(self, path: Path, name: str, *, brief: bool = False) -> Logged:
        del name, brief
        try:
            state = json.loads(path.read_text(encoding="utf-8"))
            history = state["log_history"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise CorruptRun(str(path), 0, f"not the state of a trainer ({error!r})") from None
        logged = Logged()
        for row in history if isinstance(history, list) else ():
            if isinstance(row, dict) and "train_runtime" not in row:  # the last one sums up
                _add(logged, row, "step")
        kept = ("max_steps", "num_train_epochs", "train_batch_size", "logging_steps", "eval_steps")
        logged.settings = {key: state[key] for key in kept if key in state}
        return logged


#: What a long table calls the name of a series, its value, and the run.
_NAMES = ("attribute_path", "metric", "metric_name", "key", "log_name", "name")
_VALUES = ("float_value", "value", "metric_value", "y")
_RUNS = ("custom_run_id", "run_id", "run", "run_name", "sys/custom_run_id")


class Parquet:
    """Exports as Parquet: a row for each value, as of Neptune and pluto, or one for each step."""

    def find(self, folder: Path, names: frozenset[str]) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for name in sorted(names):
            if name.endswith(".parquet"):
                with suppress(OSError, pa.ArrowException):
                    columns = pq.read_schema(folder / name).names
                    if _step_name(columns) and (_is_long(columns) or _is_wide(folder / name)):
                        found |= self._runs(folder / name, columns)
        return found

    def _runs(self, file: Path, columns: Sequence[str]) -> dict[str, Path]:
        run = _first(_RUNS, columns)
        if not run:
            return {file.stem: file}
        runs = pq.read_table(file, columns=[run]).column(0).unique().to_pylist()
        return {str(one): file for one in runs if one is not None}

    def read(self, path: Path, name: str, *, brief: bool = False) -> Logged:
        del brief
        try:
            table = pq.read_table(path)
        except (OSError, pa.ArrowException) as error:
            raise CorruptRun(str(path), 0, f"not Parquet ({error})") from None
        run = _first(_RUNS, table.column_names)
        if run:
            table = table.filter(pc.equal(table.column(run).cast(pa.string()), name))
        logged = Logged()
        counts = _step_name(table.column_names)
        if not _is_long(table.column_names):
            for row in table.to_pylist():
                _add(logged, row, counts)
            return logged
        of_name, of_value = _first(_NAMES, table.column_names), _first(_VALUES, table.column_names)
        when = _first(_TIMES, table.column_names)
        for row in table.select([counts, of_name, of_value, *filter(None, [when])]).to_pylist():
            step, value = _number(row[counts]), _number(row[of_value])
            if step is not None and value is not None:
                logged.add(str(row[of_name]), int(step), value, _seconds(row.get(when)))
        return logged


def _seconds(value: Any) -> float:
    if hasattr(value, "timestamp"):
        return float(value.timestamp())
    return _number(value) or 0.0


def _first(names: Sequence[str], among: Sequence[str]) -> str:
    return next((name for name in names if name in among), "")


def _is_long(columns: Sequence[str]) -> bool:
    return bool(_first(_NAMES, columns) and _first(_VALUES, columns))


def _is_wide(file: Path) -> bool:
    """Return whether a table has numbers beside the steps, and nothing that a run of ours has."""
    schema = pq.read_schema(file)
    numbers = [one for one in schema if pa.types.is_floating(one.type)]
    return bool(numbers) and not {"tensor", "mode_step"} & set(schema.names)


csv_files = Csv()
json_lines = JsonLines()
trainer_state = TrainerState()
parquet = Parquet()
