"""A job, for whoever submits it, or attaches to it by its name."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..actions.policy import check_rules, parse_actions
from ..config import jobs_at_once, jobs_folder
from ..errors import ConfigError
from ..judge.parameters import parse_rules
from ..model.json_text import parse_json
from ..plugins.specs import split_specs
from ..rules.compat import compat_rule
from ..store import scheme_of
from .container_env import write_file
from .job_rules import RULE_SOURCE
from .logs import last_metrics
from .paths import JobPaths
from .processes import program, reap, start_runner
from .records import JobRecord, Records
from .spec import JobSpec, RuleSpec


def submit_job(records: Records, spec: JobSpec) -> None:
    """Begin a job, in processes that outlive this one.

    Raises:
        JobExists: The name is taken.
        ConfigError: The limit of jobs at once is invalid.
    """
    jobs_at_once()  # an invalid limit is an error now
    records.add(spec)
    JobPaths(records.home, spec.name).make()
    start_runner(records, spec.name)


def update_job(
    records: Records,
    name: str,
    profiler: Mapping[str, Any] | None,
    rules: Sequence[RuleSpec] = (),
    request: Mapping[str, Any] | None = None,
) -> None:
    """Change what is profiled and judged of a job while it goes on.

    Args:
        records: Where it is noted.
        name: The name of the job.
        profiler: Takes the place of its profiler configuration; ``None`` to keep that.
        rules: Judge it, too.
        request: Takes the place of what its client asked for; ``None`` to keep that.

    Raises:
        JobNotFound: There is no such job.
        ConfigError: It has ended, or two rules would have one name.
    """
    status = records.get(name).status
    if status != "InProgress":
        raise ConfigError(f"the job {name!r} is {status}, and cannot be changed any more")

    def changed(spec: JobSpec) -> JobSpec:
        return replace(
            spec,
            profiler=spec.profiler if profiler is None else profiler,
            rules=(*spec.rules, *rules),
            request=spec.request if request is None else request,
        )

    spec = records.change(name, changed)
    if spec.profiler is not None:
        write_file(JobPaths(records.home, name), "profilerconfig", dict(spec.profiler))


_POLL_S = 0.1
Configuration = Mapping[str, Any] | str | os.PathLike[str] | bool | None


class Job:
    """A training that runs, or ran, in processes of its own.

    Args:
        script: The program that trains, a path.
        arguments: The arguments of the program.
        name: Letters, digits and inner hyphens; by default the script's name and the time.
        rules: What judges it, each in a process of its own: rule specs, or ``RuleSpec`` with what
            is done about findings.
        hook: What is captured, as a hook configuration of SageMaker Debugger: the JSON object, or
            the path of a file with it.
        profiler: A profiler configuration of SageMaker, given in the same way; ``True`` for an
            empty one.
        tensorboard: A TensorBoard configuration of SageMaker; likewise.
        home: Where jobs lie; ``$STEPWATCH_JOBS`` by default, else ``~/.stepwatch/jobs``.
        options: Further fields of ``JobSpec``.

    Raises:
        ConfigError: An invalid value.

    Example:
        ``job = Job("train.py", rules=["loss_not_decreasing"]).submit()``, then ``job.status()``,
        ``for line in job.logs(follow=True)``, ``job.stop()``; from any other process
        ``attach("train-…")``.
    """

    def __init__(
        self,
        script: str | os.PathLike[str],
        arguments: Sequence[str] = (),
        *,
        name: str = "",
        rules: Sequence[str | RuleSpec] = (),
        hook: Configuration = None,
        profiler: Configuration = None,
        tensorboard: Configuration = None,
        home: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        path = Path(script)
        if not path.is_file():
            raise ConfigError(f"no script at {path}; give the path of a Python file")
        for channel, folder in options.get("inputs", {}).items():
            if not scheme_of(folder) and not Path(folder).exists():
                raise ConfigError(f"there is nothing at {folder}, the input {channel!r}")
        if "python" in options:
            options["python"] = program(options["python"])
        self._records = Records(_home(home))
        self.spec = JobSpec(
            name or f"{_as_name(path.stem)}-{time.strftime('%Y-%m-%d-%H-%M-%S')}-{_millis():03d}",
            str(path.resolve()),
            tuple(map(str, arguments)),
            rules=tuple(as_rules(rules)),
            hook=_configuration(hook),
            profiler=_configuration(profiler),
            tensorboard=_configuration(tensorboard),
            **options,
        )

    @property
    def name(self) -> str:
        """Its name."""
        return self.spec.name

    @property
    def run(self) -> str:
        """Where its run lies, for ``Trial``."""
        return str(self._paths.tensors)

    @property
    def folder(self) -> Path:
        """What ``/opt/ml`` is in a container."""
        return self._paths.root

    def submit(self, *, wait: bool = False) -> Job:
        """Begin it, in processes that outlive this one.

        Args:
            wait: Return when it has ended.

        Raises:
            JobExists: The name is taken.
        """
        submit_job(self._records, self.spec)
        if wait:
            self.wait()
        return self

    def resume(self) -> Job:
        """Begin it again where it failed or was stopped, in the same folder.

        The training finds its checkpoints. If it has written there, in a file ``step``, with which
        TRAIN step it goes on, the run keeps what was before.

        Raises:
            ConfigError: It has not ended, or has completed.
        """
        self._records.begin_again(self.name)
        start_runner(self._records, self.name)
        return self

    def update(
        self, *, profiler: Mapping[str, Any] | None = None, rules: Sequence[str | RuleSpec] = ()
    ) -> JobRecord:
        """Change what is profiled and judged of it while it goes on.

        Args:
            profiler: Takes the place of the profiler configuration.
            rules: Judge it, too, from its first step on.

        Raises:
            ConfigError: It has ended, or a rule is invalid.
        """
        update_job(self._records, self.name, profiler, as_rules(rules))
        return self.status()

    def status(self) -> JobRecord:
        """Return how it stands.

        Raises:
            JobNotFound: It was never submitted.
        """
        reap(self._records)
        return self._records.get(self.name)

    def metrics(self) -> dict[str, float]:
        """Return the last value that its training printed of each number in ``JobSpec.metrics``."""
        return {one.name: one.value for one in last_metrics(self._paths)}

    def wait(self, timeout_s: float = float("inf")) -> JobRecord:
        """Wait until it has ended, or so long; return how it stands."""
        give_up_at = time.monotonic() + timeout_s
        while not (record := self.status()).has_ended and time.monotonic() < give_up_at:
            time.sleep(_POLL_S)
        return record

    def stop(self, why: str = "stopped by its user") -> None:
        """Ask it to stop: its processes get two minutes to end.

        Raises:
            ConfigError: It has ended.
        """
        self._records.record_stop_request(self.name, why)

    def logs(self, *, follow: bool = False) -> Iterator[str]:
        """Yield the lines that its training processes wrote, those of the first one first.

        Args:
            follow: Wait for more until it has ended; lines of several processes are marked.
        """
        ranks = range(self.spec.processes)
        mark = len(ranks) > 1
        offsets = dict.fromkeys(ranks, 0)
        while True:
            ended = self.status().has_ended
            for rank in ranks:
                lines, offsets[rank] = _lines(self._paths.log(rank), offsets[rank], whole=not ended)
                yield from (f"algo-{rank + 1}: {line}" if mark else line for line in lines)
            if ended or not follow:
                return
            time.sleep(_POLL_S)

    @property
    def _paths(self) -> JobPaths:
        return JobPaths(self._records.home, self.name)


def attach(name: str, home: str | os.PathLike[str] | None = None) -> Job:
    """Return a job that was submitted before, by whatever process.

    Raises:
        JobNotFound: There is no such job.
    """
    job = Job.__new__(Job)
    job._records = Records(_home(home))
    job.spec = job._records.get(name).spec
    return job


def list_jobs(home: str | os.PathLike[str] | None = None) -> list[Job]:
    """Return all jobs, the newest first."""
    return [attach(name, home) for name in Records(_home(home)).names()]


def _home(home: str | os.PathLike[str] | None) -> Path:
    return Path(home) if home is not None else jobs_folder()


def as_rules(rules: Sequence[str | RuleSpec]) -> list[RuleSpec]:
    """Return what judges a job, each with a name of its own.

    Raises:
        ConfigError: An unknown rule or parameter, or an action about another rule.
    """
    specs: list[RuleSpec] = []
    for rule in rules:
        texts = [rule] if isinstance(rule, RuleSpec) else split_specs(rule)
        specs += [one if isinstance(one, RuleSpec) else RuleSpec(one, "") for one in texts]
    ours = [spec for spec in specs if isinstance(spec.rule, str)]
    built = parse_rules([str(spec.rule) for spec in ours])
    names = {id(spec): one.name for spec, one in zip(ours, built, strict=True)}
    named = [replace(spec, name=spec.name or names[id(spec)]) for spec in specs]
    for spec in named:
        check_rules(parse_actions(spec.actions), [one.name for one in named])
        if not isinstance(spec.rule, str) and RULE_SOURCE not in spec.rule:
            compat_rule(spec.name, spec.rule)
    return named


def _configuration(given: Configuration) -> Mapping[str, Any] | None:
    """Return a configuration as the object that it is; ``None`` for none."""
    if given is None or isinstance(given, bool):
        return {} if given else None
    if isinstance(given, Mapping):
        return given
    try:
        found = parse_json(Path(given).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"the configuration {os.fspath(given)} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"the configuration {os.fspath(given)} is no JSON object")
    return found


def _as_name(stem: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in stem).strip("-")[:30] or "job"


def _millis() -> int:
    return time.time_ns() // 1_000_000 % 1000


def _lines(log: Path, start_byte: int, *, whole: bool) -> tuple[Sequence[str], int]:
    """Return the lines from a byte on, and where the next begins; with ``whole`` no part of one."""
    if not log.exists():
        return (), start_byte
    with log.open("rb") as file:
        file.seek(start_byte)
        data = file.read()
    if whole:
        data = data[: data.rfind(b"\n") + 1]
    return data.decode(errors="replace").splitlines(), start_byte + len(data)
