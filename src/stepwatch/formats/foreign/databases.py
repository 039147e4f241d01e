"""Runs in databases: those of MLflow, in folders of files or SQLite, and of trackio."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from ...errors import CorruptRun
from .series import Logged

_SQLITE = b"SQLite format 3\x00"
_DATABASES = (".db", ".sqlite", ".sqlite3")
#: How MLflow says that a run stands.
_STATES = {"RUNNING": "running", "FINISHED": "finished", "FAILED": "failed", "KILLED": "failed"}
_NUMBERS = {"1": "RUNNING", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}


class Mlflow:
    """Stores of MLflow."""

    def find(self, folder: Path, names: frozenset[str]) -> dict[str, Path]:
        if {"meta.yaml", "metrics"} <= names and _yaml(folder / "meta.yaml").get("run_id"):
            return {"": folder}
        for file in _databases(folder, names):
            with _opened(file) as rows:
                if _columns(rows, "metrics") >= {"key", "value", "timestamp", "run_uuid", "step"}:
                    of_runs = "SELECT run_uuid FROM runs WHERE lifecycle_stage = 'active'"
                    return {str(run): file for (run,) in rows.execute(of_runs)}
        return {}

    def read(self, path: Path, name: str, *, brief: bool = False) -> Logged:
        if path.is_dir():
            return _mlflow_folder(path, brief=brief)
        return _mlflow_database(path, name, "latest_metrics" if brief else "metrics")


def _mlflow_folder(path: Path, *, brief: bool) -> Logged:
    about = _yaml(path / "meta.yaml")
    status = about.get("status", "")
    logged = Logged(
        state=_STATES.get(_NUMBERS.get(status, status), ""),
        started_s=_seconds(about.get("start_time", "")),
    )
    metrics, parameters = path / "metrics", path / "params"
    for file in sorted(metrics.rglob("*")):
        if not file.is_file():
            continue
        name = file.relative_to(metrics).as_posix()
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        for line in lines[-1:] if brief else lines:
            parts = line.split()
            with suppress(ValueError, IndexError):
                when, value = parts[0], float(parts[1])
                logged.add(name, int(parts[2]) if len(parts) > 2 else 0, value, _seconds(when))
    if parameters.is_dir() and not brief:
        logged.settings = {
            one.name: one.read_text(encoding="utf-8", errors="replace")
            for one in sorted(parameters.iterdir())
            if one.is_file()
        }
    return logged


def _mlflow_database(path: Path, name: str, table: str) -> Logged:
    with _opened(path) as rows:
        found = rows.execute("SELECT status, start_time FROM runs WHERE run_uuid = ?", (name,))
        status, started = found.fetchone() or ("", 0)
        logged = Logged(state=_STATES.get(str(status), ""), started_s=_seconds(str(started or 0)))
        of_run = (
            f"SELECT key, step, value, timestamp, is_nan FROM {table} WHERE run_uuid = ?"
            " ORDER BY step, timestamp"
        )
        for key, step, value, when, is_nan in rows.execute(of_run, (name,)):
            logged.add(str(key), int(step), float("nan") if is_nan else value, when / 1000)
        of_run = "SELECT key, value FROM params WHERE run_uuid = ?"
        logged.settings = {str(key): value for key, value in rows.execute(of_run, (name,))}
    return logged


def _seconds(milliseconds: str) -> float:
    try:
        return int(milliseconds) / 1000
    except ValueError:
        return 0.0


def _yaml(file: Path) -> dict[str, str]:
    """Return the texts at the top of a file that MLflow wrote; a whole YAML is not needed."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in lines if line[:1].strip())
    return {key.strip(): value.strip().strip("'\"") for key, _, value in pairs}


class Trackio:
    """Databases of trackio, one for each project."""

    def find(self, folder: Path, names: frozenset[str]) -> dict[str, Path]:
        for file in _databases(folder, names):
            with _opened(file) as rows:
                if _columns(rows, "metrics") >= {"timestamp", "run_name", "step", "metrics"}:
                    of_runs = "SELECT DISTINCT run_name FROM metrics ORDER BY run_name"
                    return {str(run): file for (run,) in rows.execute(of_runs)}
        return {}

    def read(self, path: Path, name: str, *, brief: bool = False) -> Logged:
        logged = Logged()
        with _opened(path) as rows:
            of_run = "SELECT timestamp, step, metrics FROM metrics WHERE run_name = ? ORDER BY id"
            found = rows.execute(f"{of_run} DESC LIMIT 1" if brief else of_run, (name,))
            for when, step, text in found:
                values = _object(text)
                time_s = _time(str(when))
                for key, value in values.items():
                    number = _number(value)
                    if number is not None:
                        logged.add(key, int(step), number, time_s)
            if _columns(rows, "configs") >= {"run_name", "config"}:
                of_run = "SELECT config FROM configs WHERE run_name = ?"
                for (text,) in rows.execute(of_run, (name,)):
                    kept = _object(text).items()
                    logged.settings = {k: v for k, v in kept if not k.startswith("_")}
        return logged


def _object(text: object) -> dict[str, Any]:
    try:
        found = json.loads(text if isinstance(text, (str, bytes)) else "")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _number(value: object) -> float | None:
    """Return a number, also one that JSON has no word for."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(str(value))
    return None


def _time(text: str) -> float:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def _databases(folder: Path, names: frozenset[str]) -> Iterator[Path]:
    """Yield the SQLite files of a folder."""
    for name in sorted(names):
        if name.endswith(_DATABASES):
            with suppress(OSError), (folder / name).open("rb") as stream:
                if stream.read(len(_SQLITE)) == _SQLITE:
                    yield folder / name


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a database to read only; what it cannot do is told as of a damaged run."""
    try:
        address = f"{file.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=2.0)) as rows:
            yield rows
    except (sqlite3.Error, TypeError, ValueError, OverflowError) as error:
        raise CorruptRun(str(file), 0, f"not the database that it looks like ({error})") from None


def _columns(rows: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in rows.execute(f"PRAGMA table_info({table})")}


mlflow = Mlflow()
trackio = Trackio()
