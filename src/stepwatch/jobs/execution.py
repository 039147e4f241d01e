"""What a job goes through once its turn has come: it fetches, trains, is judged, stores."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

from ..config import environment
from ..formats import run_format
from ..profile.sampler import wait_until_ended
from ..store import open_store
from .artifacts import Outputs, fetch, mark_end, record_ends
from .container_env import bind_mount, command_line, free_port, variables, write_files
from .job_rules import RuleProcesses, required_collections
from .logs import LogClock, LogMetrics, log_tail
from .paths import CONTAINER, JobPaths, is_free
from .processes import described, start
from .records import JobRecord, Records
from .spec import JobSpec

#: How long a training may take to end after it was asked to, seconds.
GRACE_S = 120.0
# What its sampler read last is stored by then.
_SAMPLER_PATIENCE_S = 10.0


class Training:
    """The processes that train; one that fails ends all. ``attempt`` counts those before."""

    def __init__(self, spec: JobSpec, paths: JobPaths, records: Records, attempt: int) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._kill_at: float | None = None
        port, folder = free_port(), paths.code if spec.source else None
        prepare = bind_mount(paths.root, CONTAINER) if is_free(CONTAINER) else None
        for rank in range(spec.processes):
            variables_ = {**environment(), **variables(spec, paths, rank, port)}
            command = _command(spec, paths, attempt)
            process = start(command, paths.log(rank), variables_, folder=folder, prepare=prepare)
            self._processes.append(process)
            records.add_process(spec.name, described(f"algo-{rank + 1}", process.pid))

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
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, how)


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


_POLL_S = 0.1


class JobExecution:
    """Carries out one job."""

    def __init__(self, records: Records, name: str) -> None:
        self._records, self._name = records, name
        self._paths = JobPaths(records.home, name)
        record = self._record()
        self._spec = record.spec
        #: How often it was trained before.
        self._attempt = sum(one.status == "Training" for one in record.transitions)
        self._rules = RuleProcesses(self._spec, self._paths, self._records)
        self._clock = LogClock(self._paths.logs)
        logs = [self._paths.log(rank) for rank in range(self._spec.processes)]
        self._metrics = LogMetrics(self._spec.metrics, self._paths, logs)

    def run(self) -> None:
        records, name = self._records, self._name
        records.move(name, "InProgress", "Downloading", "preparing the inputs")
        fetch(self._spec, self._paths)
        self._outputs = Outputs(self._spec, self._paths)
        write_files(self._record().spec, self._paths)  # it may have been changed by now
        status, secondary, failure, code = self._evaluate() if self._spec.judges else self._train()
        self._clock.note()
        self._metrics.search(at_end=True)
        mark_end(self._paths, self._spec)
        records.move(name, self._status(), "Uploading", "storing what was made")
        self._rules.finish()
        wait_until_ended(str(self._paths.tensors), _SAMPLER_PATIENCE_S)
        self._outputs.finish()
        records.end(name, status, secondary, failure, code)

    def _train(self) -> tuple[str, str, str, int | None]:
        """Train, again if it fails and may; return how the job ends."""
        last = self._attempt + self._spec.retries
        for attempt in range(self._attempt, last + 1):
            message = "training" if not attempt else f"training, attempt {attempt + 1}"
            self._records.move(self._name, self._status(), "Training", message)
            if attempt and self._spec.hook is not None:  # as on SageMaker it begins anew
                self._outputs.begin_anew()
            self._rules.begin(self._requested()[1])
            ended = self._train_once(attempt)
            if ended[0] != "Failed":
                break
        return ended

    def _train_once(self, attempt: int) -> tuple[str, str, str, int | None]:
        training = Training(self._spec, self._paths, self._records, attempt)
        give_up_at = time.monotonic() + self._spec.max_run_s
        ended: tuple[str, str, str] | None = None
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

    def _evaluate(self) -> tuple[str, str, str, int | None]:
        """Let the rules judge a run that there is; return how the job ends."""
        self._records.move(self._name, self._status(), "Training", "judging")
        give_up_at = time.monotonic() + self._spec.max_run_s
        self._rules.begin(self._requested()[1])
        while self._rules.poll():
            self._clock.tick()
            why_stop = self._requested()[0]
            if why_stop is not None or time.monotonic() > give_up_at:
                self._rules.finish(0)
                return "Stopped", "Stopped", why_stop or "it judged too long", None
            time.sleep(_POLL_S)
        return "Completed", "Completed", "", None

    def _failure(self, code: int) -> str:
        """Return why training failed: what it wrote to its file for that, else its last line."""
        if self._paths.failure.is_file():
            reason = self._paths.failure.read_text(errors="replace").strip()
        else:
            ends = [log_tail(self._paths.log(rank)) for rank in range(self._spec.processes)]
            reason = next(filter(None, ends), "")
        if f"{CONTAINER}/" in reason and not is_free(CONTAINER):
            reason += f"; to find its folder there as well, make an empty folder {CONTAINER}"
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"AlgorithmError: {reason or 'it said nothing'} ({how})"

    def _record(self) -> JobRecord:
        return self._records.get(self._name)

    def _requested(self) -> tuple[str | None, int]:
        return self._records.requested(self._name)

    def _status(self) -> str:
        return "InProgress" if self._requested()[0] is None else "Stopping"
