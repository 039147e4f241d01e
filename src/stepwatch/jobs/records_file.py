"""The file of records: one SQLite database, which any number of processes read and change."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ..errors import StoreError

_WAIT_S = 30.0
_VERSION = 1
_TABLES = """
create table if not exists jobs (
    name text primary key, spec text not null, status text not null, secondary text not null,
    created_ns integer not null, started_ns integer, ended_ns integer, exit_code integer,
    failure text not null default '', stop_asked text, holds_slot integer not null default 0);
create table if not exists transitions (
    job text not null, status text not null, message text not null,
    started_ns integer not null, ended_ns integer);
create table if not exists rules (
    job text not null, place integer not null, name text not null, status text not null,
    details text not null default '', changed_ns integer not null, primary key (job, place));
create table if not exists processes (
    job text not null, role text not null, host text not null, pid integer not null,
    identity text not null, primary key (job, role));
"""


class RecordsFile:
    """The database; each call is one transaction, of a connection of its own.

    Every method raises ``StoreError`` where the disk is full, or what lies there is no database.

    Args:
        path: Of the file; made with the first change.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def rows(self, query: str, *values: Any) -> list[Any]:
        """Return what a query finds; nothing where there is no file."""
        if not self._path.is_file():
            return []
        with self._open() as database:
            return database.execute(query, values).fetchall()

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """Change it: all that is done within, or nothing of it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as database:
            if database.execute("pragma user_version").fetchone() != (_VERSION,):
                _make_tables(database)
            database.execute("begin immediate")
            try:
                yield database
            except BaseException:
                database.execute("rollback")
                raise
            database.execute("commit")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            database = sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None)
            with closing(database):
                yield database
        except sqlite3.Error as error:
            raise StoreError(
                f"the records of jobs, {self._path}, cannot be used: {error}"
            ) from None


def _make_tables(database: sqlite3.Connection) -> None:
    """Make what a new file lacks; several processes may do so at once."""
    database.execute("pragma journal_mode = wal")
    for table in _TABLES.split(";"):
        database.execute(table)
    database.execute(f"pragma user_version = {_VERSION}")
