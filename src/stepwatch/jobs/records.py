"""The records of all jobs: one SQLite file, read and written by any number of processes."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ConfigError, JobExists, JobNotFound, StoreError, nearest
from ..store.local import make_private_folder, private_opener
from .spec import JobSpec

ENDED = ("Completed", "Failed", "Stopped")


@dataclass(frozen=True, slots=True)
class Transition:
    """A stretch of a job's life.

    Args:
        status: The secondary status, such as ``Training``.
        message: What happens, for people.
        started_ns: Nanoseconds since the Unix epoch.
        ended_ns: ``None`` while it lasts.
    """

    status: str
    message: str
    started_ns: int
    ended_ns: int | None


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """How a rule of a job stands.

    Args:
        name: As the job calls it.
        status: ``InProgress``, ``NoIssuesFound``, ``IssuesFound``, ``NotEvaluated``, ``Error``,
            ``Stopping`` or ``Stopped``.
        details: Why, or what it found first.
        changed_ns: When that was noted, nanoseconds since the Unix epoch.
    """

    name: str
    status: str
    details: str
    changed_ns: int


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """A process of a job; see ``stepwatch.runtime.process``.

    Args:
        role: ``runner``, ``runner-2`` … for those that took over, ``algo-1`` …, or ``rule-0`` ….
        host: The machine.
        pid: Its number there; it leads a process group of its own.
        identity: By which it is known again.
    """

    role: str
    host: str
    pid: int
    identity: str


@dataclass(frozen=True, slots=True)
class Overview:
    """What a list says of a job.

    Args:
        name: The name of the job.
        status: As in ``JobRecord``.
        secondary: What it is at.
        created_ns: When it was submitted, nanoseconds since the Unix epoch.
        ended_ns: When it ended; ``None`` before.
        changed_ns: When it last came to another stretch of its life.
    """

    name: str
    status: str
    secondary: str
    created_ns: int
    ended_ns: int | None
    changed_ns: int


@dataclass(frozen=True, slots=True)
class JobRecord:
    """All that is noted of a job.

    Args:
        spec: What it is to do.
        status: ``InProgress``, ``Stopping``, ``Completed``, ``Failed`` or ``Stopped``.
        secondary: What it is at.
        created_ns: When it was submitted, nanoseconds since the Unix epoch.
        started_ns: When training began; ``None`` before.
        ended_ns: When the job ended; ``None`` before.
        exit_code: Of the training; ``None`` before it ended.
        failure: Why it failed, at most 1,024 characters.
        stop_asked: Why it is to stop; ``None`` if it is not.
        transitions: What it went through, in order.
        rules: How each of its rules stands, in order.
    """

    spec: JobSpec
    status: str
    secondary: str
    created_ns: int
    started_ns: int | None
    ended_ns: int | None
    exit_code: int | None
    failure: str
    stop_asked: str | None
    transitions: tuple[Transition, ...]
    rules: tuple[RuleRecord, ...]

    @property
    def changed_ns(self) -> int:
        """When it last came to another stretch of its life, nanoseconds since the Unix epoch."""
        return self.transitions[-1].started_ns

    @property
    def has_ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.status in ENDED


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
    """The database; each call is one transaction.

    A change has a connection of its own; each thread keeps the one by which it reads.

    Every method raises ``StoreError`` where the disk is full, or what lies there is no database.

    Args:
        path: Of the file; made with the first change.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = threading.local()

    def rows(self, query: str, *values: Any) -> list[Any]:
        """Return what a query finds; nothing where there is no file."""
        try:
            there = self._path.stat()
        except OSError:
            return []
        # Another file may have taken its place, and no connection lives on in a forked process.
        place = there.st_dev, there.st_ino, os.getpid()
        if getattr(self._kept, "place", None) != place:
            self._kept.database, self._kept.place = self._connected(), place
        try:
            return list(self._kept.database.execute(query, values).fetchall())
        except sqlite3.Error as error:
            self._kept.place = None
            raise self._unusable(error) from None

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """Change it: all that is done within, or nothing of it."""
        try:
            make_private_folder(self._path.parent)
            # What it holds names commands and environments; SQLite keeps the mode for its log.
            # Never opened where it is there: to close it would drop the locks of all connections.
            with suppress(FileExistsError), open(self._path, "xb", opener=private_opener):
                pass
        except OSError as error:
            raise self._unusable(error) from None
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
            with closing(self._connected()) as database:
                yield database
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def _connected(self) -> sqlite3.Connection:
        try:
            return sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None)
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def _unusable(self, error: Exception) -> StoreError:
        return StoreError(f"the records of jobs, {self._path}, cannot be used: {error}")


def _make_tables(database: sqlite3.Connection) -> None:
    """Make what a new file lacks; several processes may do so at once."""
    deadline = time.monotonic() + _WAIT_S
    while True:
        try:
            database.execute("pragma journal_mode = wal")
            break
        except sqlite3.OperationalError:
            # SQLite does not wait for others that switch to WAL too, whatever the timeout.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    for table in _TABLES.split(";"):
        database.execute(table)
    database.execute(f"pragma user_version = {_VERSION}")


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

    def requested(self, name: str) -> tuple[str | None, int]:
        """Return why a job is to stop, ``None`` if it is not, and how many rules it has."""
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
            name: The name of the job.
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

    def record_stop_request(self, name: str, why: str) -> None:
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

    def judge(self, name: str, index: int, status: str, details: str = "") -> None:
        """Note how a rule of a job stands, by its index in the job's list."""
        with self._file.change() as database:
            database.execute(
                "update rules set status = ?, details = ?, changed_ns = ?"
                " where job = ? and place = ? and (status != ? or details != ?)",
                (status, details[:1024], time.time_ns(), name, index, status, details[:1024]),
            )

    def take_slot(self, name: str, capacity: int) -> bool:
        """Let a job begin if fewer than ``capacity`` are under way and none waits longer.

        One that has begun goes on.
        """
        with self._file.change() as database:
            query = "select holds_slot from jobs where name = ?"
            if database.execute(query, (name,)).fetchone()[0]:
                return True
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

    def add_new_process(self, name: str, process: ProcessRecord) -> bool:
        """Note a process of a job unless its role is taken; return whether it was free."""
        with self._file.change() as database:
            added = database.execute(
                "insert or ignore into processes values (?, ?, ?, ?, ?)",
                (name, process.role, process.host, process.pid, process.identity),
            )
            return added.rowcount == 1

    def processes(self, name: str) -> list[ProcessRecord]:
        """Return the processes that a job has had, the last of each role."""
        rows = self._file.rows(
            "select role, host, pid, identity from processes where job = ?", name
        )
        return [ProcessRecord(*row) for row in rows]

    def under_way(self, job: str = "") -> list[tuple[str, int]]:
        """Return the names of the jobs that have not ended, each with when it last changed.

        Args:
            job: Of this one only.
        """
        return self._file.rows(
            "select name, (select max(started_ns) from transitions where job = jobs.name) from jobs"
            f" where status not in (?, ?, ?){' and name = ?' if job else ''}",
            *ENDED,
            *filter(None, [job]),
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
