"""The records of all jobs: one SQLite file, read and written by any number of processes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import ConfigError, JobExists, JobNotFound, nearest
from .job_record import ENDED, JobRecord, ProcessRecord, RuleRecord, Transition
from .spec import JobSpec

_WAIT_S = 30.0
_COLUMNS = (
    *("status", "secondary", "created_ns", "started_ns", "ended_ns"),
    *("exit_code", "failure", "stop_asked"),
)
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


class Records:
    """The records under a folder; each call is one transaction.

    Args:
        home: The folder; made with the first job.
    """

    def __init__(self, home: Path) -> None:
        self.home = home

    def add(self, spec: JobSpec) -> None:
        """Note a job that is about to begin.

        Raises:
            JobExists: The name is taken.
        """
        now = time.time_ns()
        with self._change() as database:
            try:
                database.execute(
                    "insert into jobs (name, spec, status, secondary, created_ns)"
                    " values (?, ?, 'InProgress', 'Starting', ?)",
                    (spec.name, spec.to_json(), now),
                )
            except sqlite3.IntegrityError:
                raise JobExists(
                    f"there is a job named {spec.name!r} already; choose another name"
                ) from None
            database.execute(
                "insert into transitions values (?, 'Starting', 'waiting for its turn', ?, null)",
                (spec.name, now),
            )
            database.executemany(
                "insert into rules (job, place, name, status, changed_ns)"
                " values (?, ?, ?, 'InProgress', ?)",
                [(spec.name, place, rule.name, now) for place, rule in enumerate(spec.rules)],
            )

    def names(self) -> list[str]:
        """Return the names of all jobs, the newest first."""
        rows = self._rows("select name from jobs order by created_ns desc, name")
        return [name for (name,) in rows]

    def get(self, name: str) -> JobRecord:
        """Return what is noted of a job.

        Raises:
            JobNotFound: There is no such job.
        """
        found = self._rows(
            f"select spec, {', '.join(_COLUMNS)} from jobs where name = ?",
            name,
        )
        if not found:
            known = self.names()
            there = f"there are {', '.join(known[:5])}" if known else "there is none"
            raise JobNotFound(f"no job is named {name!r}; {there}{nearest(name, known)}")
        spec, *rest = found[0]
        columns: dict[str, Any] = dict(zip(_COLUMNS, rest, strict=True))
        transitions = self._rows(
            "select status, message, started_ns, ended_ns from transitions where job = ?"
            " order by rowid",
            name,
        )
        rules = self._rows(
            "select name, status, details, changed_ns from rules where job = ? order by place",
            name,
        )
        return JobRecord(
            JobSpec.from_json(spec),
            **columns,
            transitions=tuple(Transition(*row) for row in transitions),
            rules=tuple(RuleRecord(*row) for row in rules),
        )

    def move(self, name: str, status: str, secondary: str, message: str = "") -> None:
        """Note that a job has come to another stretch of its life."""
        now = time.time_ns()
        with self._change() as database:
            database.execute(
                "update jobs set status = ?, secondary = ?,"
                " started_ns = case when ? = 'Training' then coalesce(started_ns, ?)"
                " else started_ns end where name = ? and status not in (?, ?, ?)",
                (status, secondary, secondary, now, name, *ENDED),
            )
            _follow(database, name, secondary, message, now)

    def end(
        self,
        name: str,
        status: str,
        secondary: str,
        failure: str = "",
        exit_code: int | None = None,
    ) -> bool:
        """Note how a job ended, unless that is noted already; return whether this call did."""
        now = time.time_ns()
        with self._change() as database:
            ended = database.execute(
                "update jobs set status = ?, secondary = ?, ended_ns = ?, failure = ?,"
                " exit_code = ?, holds_slot = 0 where name = ? and status not in (?, ?, ?)",
                (status, secondary, now, failure[:1024], exit_code, name, *ENDED),
            )
            if not ended.rowcount:
                return False
            _follow(database, name, secondary, failure, now)
            database.execute(
                "update transitions set ended_ns = ? where job = ? and ended_ns is null",
                (now, name),
            )
            return True

    def ask_stop(self, name: str, why: str) -> None:
        """Ask a job to stop; the first reason stays.

        Raises:
            JobNotFound: There is no such job.
            ConfigError: It has ended.
        """
        record = self.get(name)
        if record.has_ended:
            raise ConfigError(f"the job {name!r} has ended: {record.status}")
        with self._change() as database:
            database.execute(
                "update jobs set stop_asked = coalesce(stop_asked, ?), status = 'Stopping'"
                " where name = ? and status = 'InProgress'",
                (why, name),
            )

    def judge(self, name: str, place: int, status: str, details: str = "") -> None:
        """Note how a rule of a job stands, by its place in the job's list."""
        with self._change() as database:
            database.execute(
                "update rules set status = ?, details = ?, changed_ns = ?"
                " where job = ? and place = ? and (status != ? or details != ?)",
                (status, details[:1024], time.time_ns(), name, place, status, details[:1024]),
            )

    def take_slot(self, name: str, capacity: int) -> bool:
        """Let a job begin if fewer than ``capacity`` are under way and none waits longer."""
        with self._change() as database:
            (busy,) = database.execute("select count(*) from jobs where holds_slot").fetchone()
            (ahead,) = database.execute(
                "select count(*) from jobs as other, jobs as mine where mine.name = ?"
                " and other.status = 'InProgress' and not other.holds_slot"
                " and (other.created_ns, other.name) < (mine.created_ns, mine.name)",
                (name,),
            ).fetchone()
            if busy + ahead >= capacity:
                return False
            database.execute("update jobs set holds_slot = 1 where name = ?", (name,))
            return True

    def add_process(self, name: str, process: ProcessRecord) -> None:
        """Note a process of a job, in place of what had its role before."""
        with self._change() as database:
            database.execute(
                "insert or replace into processes values (?, ?, ?, ?, ?)",
                (name, process.role, process.host, process.pid, process.identity),
            )

    def processes(self, name: str) -> list[ProcessRecord]:
        """Return the processes that a job has had, the last of each role."""
        rows = self._rows("select role, host, pid, identity from processes where job = ?", name)
        return [ProcessRecord(*row) for row in rows]

    def under_way(self) -> list[tuple[str, int]]:
        """Return the names of the jobs that have not ended, each with when it was created."""
        return self._rows("select name, created_ns from jobs where status not in (?, ?, ?)", *ENDED)

    def _rows(self, query: str, *values: Any) -> list[Any]:
        if not (self.home / "jobs.sqlite").is_file():
            return []
        with self._open() as database:
            return database.execute(query, values).fetchall()

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        self.home.mkdir(parents=True, exist_ok=True)
        with self._open() as database:
            database.execute("pragma journal_mode = wal")
            for table in _TABLES.split(";"):
                database.execute(table)
            database.execute("begin immediate")
            try:
                yield database
            except BaseException:
                database.execute("rollback")
                raise
            database.execute("commit")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self.home / "jobs.sqlite", timeout=_WAIT_S, isolation_level=None)
        try:
            yield database
        finally:
            database.close()


def _follow(
    database: sqlite3.Connection, name: str, secondary: str, message: str, now: int
) -> None:
    """End the last transition and begin one."""
    database.execute(
        "update transitions set ended_ns = ? where job = ? and ended_ns is null", (now, name)
    )
    database.execute(
        "insert into transitions values (?, ?, ?, ?, null)", (name, secondary, message, now)
    )
