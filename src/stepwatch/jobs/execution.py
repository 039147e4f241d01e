"""What a job goes through once its turn has come: it fetches, trains, is judged, stores."""

from __future__ import annotations

import json
import math
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..config import environment
from ..formats import run_format
from ..profile.sampler import wait_until_ended
from ..runtime.process import free_port
from ..store import open_store
from ..store.local import LocalStore
from .artifacts import Outputs, fetch, mark_end, record_ends
from .checkpoint_process import spoiled_checkpoint
from .container_env import bind_mount, command_line, variables, write_files
from .job_rules import RuleProcesses, required_collections
from .logs import LogClock, LogMetrics, log_tail
from .paths import CONTAINER, JobPaths, is_free
from .processes import RUNNER, JobProcess, end_group, exit_file_of
from .records import JobRecord, Records
from .spec import JobSpec

#: How long a training may take to end after it was asked to, seconds.
GRACE_S = 120.0
# What its sampler read last is stored by then.
_SAMPLER_PATIENCE_S = 10.0


class Training:
    """The processes that train; one that fails ends all."""

    def __init__(self, processes: Sequence[JobProcess]) -> None:
        self._processes = processes
        self._kill_at: float | None = None

    @classmethod
    def begin(cls, spec: JobSpec, paths: JobPaths, records: Records, attempt: int) -> Training:
        """Start them; ``attempt`` counts those before."""
        processes = list[JobProcess]()
        port, folder = free_port(), paths.code if spec.source else None
        prepare = bind_mount(paths.root, CONTAINER) if is_free(CONTAINER) else None
        for rank in range(spec.processes):
            variables_ = {**environment(), **variables(spec, paths, rank, port)}
            command = _command(spec, paths, attempt)
            role, log = f"{_ROLE}{rank + 1}", paths.log(rank)
            process = JobProcess.start(
                role, command, log, variables_, folder=folder, prepare=prepare
            )
            processes.append(process)
            records.add_process(spec.name, process.record)
        return cls(processes)

    @classmethod
    def adopt(cls, spec: JobSpec, paths: JobPaths, records: Records) -> Training:
        """Return those that another process started."""
        logs = {f"{_ROLE}{rank + 1}": paths.log(rank) for rank in range(spec.processes)}
        found = [one for one in records.processes(spec.name) if one.role in logs]
        return cls([JobProcess(one, exit_file_of(logs[one.role])) for one in found])

    @property
    def is_over(self) -> bool:
        """Whether none of them runs."""
        return all(process.poll() is not None for process in self._processes)

    def exit_code(self) -> int | None:
        """Return how training ended, ``None`` while it goes on.

        0 if every process ended so; else the code of the first that did not, negative for a
        signal.
        """
        codes = [process.poll() for process in self._processes]
        failed = next((code for code in codes if code), None)
        if self._is_late() or (failed is not None and self._kill_at is None):
            self.end()
        if None in codes:
            return None
        return failed or 0

    def stop(self) -> None:
        """Ask all processes to end, and make them after a while."""
        if self._kill_at is None:
            self._kill_at = time.monotonic() + GRACE_S
            self._signal(signal.SIGTERM)

    def end(self) -> None:
        """Let nothing run on that training started."""
        self._signal(signal.SIGKILL)

    def _is_late(self) -> bool:
        return self._kill_at is not None and time.monotonic() > self._kill_at

    def _signal(self, how: int) -> None:
        for process in self._processes:
            process.signal(how)


def _command(spec: JobSpec, paths: JobPaths, attempt: int) -> list[str]:
    where = (
        [sys.executable, "-m", "stepwatch.jobs.ray.remote_command", spec.ray] if spec.ray else []
    )
    script = [str(paths.script(spec)), *command_line(spec)]
    if not spec.capture:
        return [*where, spec.python, "-u", *script]
    options = ["--run", str(paths.tensors), "--rules", "none", "--quiet"]
    if spec.hook is not None:
        options += ["--hook-config", str(paths.config / "debughookconfig.json")]
    else:
        saved = (*spec.save, *required_collections(spec, paths))
        options += [part for text in saved for part in ("--save", text)]
        if attempt:  # what it does again takes the place of what it did
            options += ["--resume", str(_resumed_step(paths))]
    if spec.copy_url and (not attempt or spec.hook is not None):  # else it is copied in the end
        options += ["--mirror", spec.copy_url]
    if spec.tensorboard is not None:
        options += ["--tensorboard", str(paths.tensorboard)]
    return [*where, spec.python, "-u", "-m", "stepwatch", "run", *options, *script]


def _resumed_step(paths: JobPaths) -> int:
    """Return the TRAIN step that the training says it begins with when it is started again."""
    file = paths.checkpoints / "step"
    is_known = file.is_file() and run_format(open_store(paths.tensors)) is not None
    text = file.read_text(errors="replace").strip() if is_known else ""
    return int(text) if text.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Begun:
    """What is noted of an attempt once all of its processes run, for who may have to adopt them.

    Args:
        attempt: How many were before it.
        resumes: How often the run had been resumed before it.
    """

    attempt: int
    resumes: int

    def write(self, paths: JobPaths) -> None:
        LocalStore(paths.logs).put(_BEGUN, json.dumps([self.attempt, self.resumes]).encode())

    @classmethod
    def read(cls, paths: JobPaths) -> Begun | None:
        """Return what was noted last."""
        try:
            return cls(*json.loads((paths.logs / _BEGUN).read_text()))
        except FileNotFoundError:
            return None


_BEGUN = "attempt.json"
_ROLE = "algo-"
_POLL_S = 0.1


class JobExecution:
    """Carries out one job, from where another process left it."""

    def __init__(self, records: Records, name: str) -> None:
        self._records, self._name = records, name
        self._paths = JobPaths(records.home, name)
        record = self._record()
        self._spec = record.spec
        stretches = [one.status for one in record.transitions]
        #: How often it was trained before, and before it was last resumed.
        self._attempt = stretches.count("Training")
        resumed = (
            len(stretches) - stretches[::-1].index("Restarting")
            if ("Restarting" in stretches)
            else 0
        )
        self._first_attempt = stretches[:resumed].count("Training")
        #: The attempt that another process left.
        self._left = self._find_left(record, "Training" in stretches[resumed:])
        self._rules = RuleProcesses(self._spec, self._paths, self._records)
        self._clock = LogClock(self._paths.logs)
        logs = [self._paths.log(rank) for rank in range(self._spec.processes)]
        self._metrics = LogMetrics(
            self._spec.metrics, self._paths, logs, from_start=self._left is not None
        )

    def run(self) -> None:
        records, name = self._records, self._name
        if self._left is None:
            records.move(name, self._status(), "Downloading", "preparing the inputs")
            fetch(self._spec, self._paths)
        self._outputs = Outputs(self._spec, self._paths)
        if self._left is None:
            write_files(self._record().spec, self._paths)  # it may have been changed by now
        status, secondary, failure, code = self._evaluate() if self._spec.judges else self._train()
        if status == "Completed" and self._spec.audits and not self._spec.judges:
            status, secondary, failure = self._audit()
        self._clock.note()
        self._metrics.search(at_end=True)
        mark_end(self._paths, self._spec)
        records.move(name, self._status(), "Uploading", "storing what was made")
        self._rules.finish()
        wait_until_ended(str(self._paths.tensors), _SAMPLER_PATIENCE_S)
        self._outputs.finish()
        records.end(name, status, secondary, failure, code)

    def _find_left(self, record: JobRecord, has_trained: bool) -> Begun | None:
        """Return the attempt to go on with, ``None`` to begin one.

        Raises:
            RuntimeError: Another process died while it began one.
        """
        begun = Begun.read(self._paths)
        if has_trained and begun is not None and begun.attempt == self._attempt - 1:
            self._attempt = begun.attempt
            print(f"adopted: attempt {begun.attempt + 1} of {record.spec.name}", flush=True)
            return begun
        processes = self._records.processes(self._name)
        others = [one for one in processes if not one.role.startswith(RUNNER)]
        for process in others:
            end_group(process)
        if has_trained and any(one.role.startswith(_ROLE) for one in others):
            raise RuntimeError("the process that ran the job died as the training began")
        return None

    def _train(self) -> tuple[str, str, str, int | None]:
        """Train, again if it fails and may; return how the job ends."""
        last = self._first_attempt + self._spec.retries
        for attempt in range(self._attempt, max(last, self._attempt) + 1):
            ended = self._train_once(self._begin(attempt))
            if ended[0] != "Failed":
                break
        return ended

    def _begin(self, attempt: int) -> Training:
        """Return the processes of an attempt: those that another process left, or new ones."""
        left, self._left = self._left, None
        if left is not None:
            self._rules.adopt(left.resumes)
            return Training.adopt(self._spec, self._paths, self._records)
        message = "training" if not attempt else f"training, attempt {attempt + 1}"
        self._records.move(self._name, self._status(), "Training", message)
        if attempt and self._spec.hook is not None:  # as on SageMaker it begins anew
            self._outputs.begin_anew()
        self._rules.begin(self._requested()[1])
        training = Training.begin(self._spec, self._paths, self._records, attempt)
        Begun(attempt, self._rules.num_resumes).write(self._paths)
        return training

    def _train_once(self, training: Training) -> tuple[str, str, str, int | None]:
        give_up_at = time.monotonic() + self._spec.max_run_s - self._trained_s()
        ended = self._asked_to_stop()
        if ended is None and training.is_over:  # while nobody looked
            give_up_at = math.inf
        try:
            while (code := training.exit_code()) is None:
                why_stop, num_rules = self._requested()
                self._rules.join(num_rules)
                self._rules.poll()
                if self._clock.tick():
                    self._metrics.search()
                if ended is None and why_stop is not None:
                    ended = "Stopped", "Stopped", why_stop
                    self._records.move(self._name, "Stopping", "Stopping", why_stop)
                elif ended is None and time.monotonic() > give_up_at:
                    why = f"it trained longer than {self._spec.max_run_s:g} s"
                    ended = "Stopped", "MaxRuntimeExceeded", why
                    self._records.move(self._name, "Stopping", "Stopping", why)
                if ended is not None:
                    training.stop()
                time.sleep(_POLL_S)
        finally:
            training.end()
        if ended is not None:
            record_ends(self._paths, self._spec, ended[2])
            return *ended, code
        if code == 0:
            return "Completed", "Completed", "", code
        return "Failed", "Failed", self._failure(code), code

    def _trained_s(self) -> float:
        """Return for how long this attempt has trained, seconds."""
        begun = [one.started_ns for one in self._record().transitions if one.status == "Training"]
        return (time.time_ns() - begun[-1]) / 1e9

    def _asked_to_stop(self) -> tuple[str, str, str] | None:
        """Return how the job ends if the training was asked to end, before another adopted it."""
        record = self._record()
        last = next(t for t in reversed(record.transitions) if t.status in ("Training", "Stopping"))
        if last.status == "Training":
            return None
        secondary = "MaxRuntimeExceeded" if record.stop_asked is None else "Stopped"
        return "Stopped", secondary, last.message

    def _evaluate(self) -> tuple[str, str, str, int | None]:
        """Let the rules judge a run that there is; return how the job ends."""
        if self._left is not None:
            self._rules.adopt(self._left.resumes)
        else:
            self._records.move(self._name, self._status(), "Training", "judging")
            self._rules.begin(self._requested()[1])
            Begun(self._attempt, self._rules.num_resumes).write(self._paths)
        give_up_at = time.monotonic() + self._spec.max_run_s - self._trained_s()
        while self._rules.poll():
            self._clock.tick()
            why_stop = self._requested()[0]
            if why_stop is not None or time.monotonic() > give_up_at:
                self._rules.finish(0)
                return "Stopped", "Stopped", why_stop or "it judged too long", None
            time.sleep(_POLL_S)
        return "Completed", "Completed", "", None

    def _audit(self) -> tuple[str, str, str]:
        """Return how a job ends whose training completed: it fails if what it saved is spoiled."""
        spoiled = spoiled_checkpoint(self._spec, self._paths)
        if not spoiled:
            return "Completed", "Completed", ""
        why = f"AlgorithmError: what it saved is not finite, in {spoiled} (exit code 0)"
        return "Failed", "Failed", why

    def _failure(self, code: int) -> str:
        """Return why training failed: what it wrote to its file for that, else its last line."""
        if self._paths.failure.is_file():
            reason = self._paths.failure.read_text(errors="replace").strip()
        else:
            ends = [log_tail(self._paths.log(rank)) for rank in range(self._spec.processes)]
            reason = next(filter(None, ends), "")
        if f"{CONTAINER}/" in reason and not is_free(CONTAINER):
            reason += f"; to find its folder there as well, make an empty folder {CONTAINER}"
        how = f"signal {_signal_name(-code)}" if code < 0 else f"exit code {code}"
        return f"AlgorithmError: {reason or 'it said nothing'} ({how})"

    def _record(self) -> JobRecord:
        return self._records.get(self._name)

    def _requested(self) -> tuple[str | None, int]:
        return self._records.requested(self._name)

    def _status(self) -> str:
        return "InProgress" if self._requested()[0] is None else "Stopping"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # one for real-time use
        return str(number)
