"""The records of all jobs: one SQLite file, read and written by any number of processes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import ConfigError, JobExists, JobNotFound, nearest
from .job_record import ENDED, JobRecord, Overview, ProcessRecord, RuleRecord, Transition
from .records_file import RecordsFile
from .spec import JobSpec

_COLUMNS = (
    *("status", "secondary", "created_ns", "started_ns", "ended_ns"),
    *("exit_code", "failure", "stop_asked"),
)


class Records:
    """The records under a folder; each call is one transaction.

    Args:
        home: The folder; made with the first job.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self._file = RecordsFile(home / "jobs.sqlite")

    def add(self, spec: JobSpec) -> None:
        """Note a job that is about to begin.

        Raises:
            JobExists: The name is taken.
        """
        now = time.time_ns()
        with self._file.change() as database:
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
            _add_rules(database, spec, 0, now)

    def names(self) -> list[str]:
        """Return the names of all jobs, the newest first."""
        rows = self._file.rows("select name from jobs order by created_ns desc, name")
        return [name for (name,) in rows]

    def get(self, name: str) -> JobRecord:
        """Return what is noted of a job.

        Raises:
            JobNotFound: There is no such job.
        """
        found = self._file.rows(
            f"select spec, {', '.join(_COLUMNS)} from jobs where name = ?",
            name,
        )
        if not found:
            known = self.names()
            there = f"there are {', '.join(known[:5])}" if known else "there is none"
            raise JobNotFound(f"no job is named {name!r}; {there}{nearest(name, known)}")
        spec, *rest = found[0]
        columns: dict[str, Any] = dict(zip(_COLUMNS, rest, strict=True))
        transitions = self._file.rows(
            "select status, message, started_ns, ended_ns from transitions where job = ?"
            " order by rowid",
            name,
        )
        rules = self._file.rows(
            "select name, status, details, changed_ns from rules where job = ? order by place",
            name,
        )
        return JobRecord(
            JobSpec.from_json(spec),
            **columns,
            transitions=tuple(Transition(*row) for row in transitions),
            rules=tuple(RuleRecord(*row) for row in rules),
        )

    def overview(self) -> list[Overview]:
        """Return how all jobs that train stand, in no order."""
        rows = self._file.rows(
            "select name, status, secondary, created_ns, ended_ns,"
            " (select max(started_ns) from transitions where job = jobs.name) from jobs"
            " where json_extract(spec, '$.judges') = ''"
        )
        return [Overview(*row) for row in rows]

    def asked(self, name: str) -> tuple[str | None, int]:
        """Return why a job is to stop, ``None`` if nobody asked, and how many rules it has."""
        (row,) = self._file.rows(
            "select stop_asked, (select count(*) from rules where job = jobs.name) from jobs"
            " where name = ?",
            name,
        )
        return row[0], row[1]

    def move(self, name: str, status: str, secondary: str, message: str = "") -> None:
        """Note that a job has come to another stretch of its life."""
        now = time.time_ns()
        with self._file.change() as database:
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
        with self._file.change() as database:
            ended = database.execute(
                "update jobs set status = ?, secondary = ?, ended_ns = ?, failure = ?,"
                " exit_code = ?, holds_slot = 0 where name = ? and status not in (?, ?, ?)",
                (status, secondary, now, failure[:1024], exit_code, name, *ENDED),
            )
            if not ended.rowcount:
                return False
            _follow(database, name, secondary, failure, now, ended_ns=now)
            return True

    def begin_again(self, name: str) -> None:
        """Note that a job which ended begins anew, with its rules.

        Raises:
            JobNotFound: There is no such job.
            ConfigError: It has not ended, or has completed.
        """
        now = time.time_ns()
        record = self.get(name)
        with self._file.change() as database:
            begun = database.execute(
                "update jobs set status = 'InProgress', secondary = 'Restarting', ended_ns = null,"
                " exit_code = null, failure = '', stop_asked = null"
                " where name = ? and status in ('Failed', 'Stopped')",
                (name,),
            )
            if not begun.rowcount:
                raise ConfigError(
                    f"the job {name!r} is {record.status}; only one that failed or was stopped"
                    " can be resumed"
                )
            _follow(database, name, "Restarting", "waiting for its turn", now)
            database.execute("delete from processes where job = ?", (name,))
            database.execute(
                "update rules set status = 'InProgress', details = '', changed_ns = ?"
                " where job = ?",
                (now, name),
            )

    def change(self, name: str, changed: Callable[[JobSpec], JobSpec]) -> JobSpec:
        """Change what a job is to do, and return that; further rules of it stand as all others.

        Args:
            name: Of the job.
            changed: Returns what takes the place of what it is given. The rules that there are
                stay, and come first.

        Raises:
            JobNotFound: There is no such job.
        """
        now = time.time_ns()
        self.get(name)
        with self._file.change() as database:
            query = "select spec from jobs where name = ?"
            before = JobSpec.from_json(*database.execute(query, (name,)).fetchone())
            spec = changed(before)
            database.execute("update jobs set spec = ? where name = ?", (spec.to_json(), name))
            _add_rules(database, spec, len(before.rules), now)
        return spec

    def ask_stop(self, name: str, why: str) -> None:
        """Ask a job to stop; the first reason stays.

        Raises:
            JobNotFound: There is no such job.
            ConfigError: It has ended.
        """
        record = self.get(name)
        if record.has_ended:
            raise ConfigError(f"the job {name!r} has ended: {record.status}")
        with self._file.change() as database:
            database.execute(
                "update jobs set stop_asked = coalesce(stop_asked, ?), status = 'Stopping'"
                " where name = ? and status = 'InProgress'",
                (why, name),
            )

    def judge(self, name: str, place: int, status: str, details: str = "") -> None:
        """Note how a rule of a job stands, by its place in the job's list."""
        with self._file.change() as database:
            database.execute(
                "update rules set status = ?, details = ?, changed_ns = ?"
                " where job = ? and place = ? and (status != ? or details != ?)",
                (status, details[:1024], time.time_ns(), name, place, status, details[:1024]),
            )

    def take_slot(self, name: str, capacity: int) -> bool:
        """Let a job begin if fewer than ``capacity`` are under way and none waits longer."""
        with self._file.change() as database:
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
        with self._file.change() as database:
            database.execute(
                "insert or replace into processes values (?, ?, ?, ?, ?)",
                (name, process.role, process.host, process.pid, process.identity),
            )

    def processes(self, name: str) -> list[ProcessRecord]:
        """Return the processes that a job has had, the last of each role."""
        rows = self._file.rows(
            "select role, host, pid, identity from processes where job = ?", name
        )
        return [ProcessRecord(*row) for row in rows]

    def under_way(self) -> list[tuple[str, int]]:
        """Return the names of the jobs that have not ended, each with when it last changed."""
        return self._file.rows(
            "select name, (select max(started_ns) from transitions where job = jobs.name) from jobs"
            " where status not in (?, ?, ?)",
            *ENDED,
        )


def _add_rules(database: sqlite3.Connection, spec: JobSpec, first: int, now: int) -> None:
    database.executemany(
        "insert into rules (job, place, name, status, changed_ns)"
        " values (?, ?, ?, 'InProgress', ?)",
        [(spec.name, first + n, rule.name, now) for n, rule in enumerate(spec.rules[first:])],
    )


def _follow(
    database: sqlite3.Connection,
    name: str,
    secondary: str,
    message: str,
    now: int,
    *,
    ended_ns: int | None = None,
) -> None:
    """End the last transition and begin one, which may have ended already."""
    database.execute(
        "update transitions set ended_ns = ? where job = ? and ended_ns is null", (now, name)
    )
    database.execute(
        "insert into transitions values (?, ?, ?, ?, ?)", (name, secondary, message, now, ended_ns)
    )
