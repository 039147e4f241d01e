"""The rules of a job, each in a process of its own: one that crashes harms no other."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ..config import environment
from ..errors import ConfigError
from ..judge.parameters import parse_rules
from ..judge.rule import Scope, Watched, required_captures
from ..plugins import registry
from ..plugins.specs import load_file
from ..rules.compat import compat_rule
from .artifacts import copy_files, num_resumes
from .logs import log_tail
from .paths import JobPaths
from .processes import JobProcess, exit_file_of
from .records import Records
from .spec import JobSpec, RuleSpec

#: The entry points of classes that adapt rules which were written for another library.
RULE_ADAPTERS = "stepwatch.rule_adapters"
RULE_SOURCE, RULE_NAME = "source_s3_uri", "rule_to_invoke"


def build_rule(rule: RuleSpec, paths: JobPaths, run: str) -> Watched:
    """Build a rule of a job; its own file, if it has one, is copied into the job's folder.

    Raises:
        ConfigError: An unknown rule or parameter, or a value that does not fit.
        StoreError: The file of a rule cannot be read.
    """
    if isinstance(rule.rule, str):
        return parse_rules([rule.rule])[0]
    if RULE_SOURCE in rule.rule:
        return _build_own_rule(rule.name, rule.rule, paths, run)
    return compat_rule(rule.name, rule.rule)


def required_collections(spec: JobSpec, paths: JobPaths) -> tuple[str, ...]:
    """Return what must be saved for the rules of a job, as ``--save`` takes it."""
    built = []
    for rule in spec.rules:
        if isinstance(rule.rule, str) or RULE_SOURCE not in rule.rule:
            with suppress(ConfigError):  # its own process reports that
                built.append(build_rule(rule, paths, str(paths.tensors)))
    return required_captures(built)


def _build_own_rule(name: str, parameters: Mapping[str, str], paths: JobPaths, run: str) -> Watched:
    """Build a rule from its own file: one of ours, or one that was written for smdebug."""
    source = parameters[RULE_SOURCE]
    if not source.endswith(".py"):
        raise ConfigError(f"rule configuration {name!r}: {source} is no Python file")
    copy_files(source, paths.rule_source(name))
    file = paths.rule_source(name) / source.rpartition("/")[2]
    class_name = parameters.get(RULE_NAME, name)
    kind = getattr(load_file(str(file), kind="rule"), class_name, None)
    rest = {key: value for key, value in parameters.items() if key not in (RULE_SOURCE, RULE_NAME)}
    for adapter in registry.names(RULE_ADAPTERS):
        adapt: Any = registry.load(RULE_ADAPTERS, adapter)
        if adapt.fits(kind):
            return Watched(adapt(kind, run, rest), Scope(profile="compat", on_fire="stop"), name)
    return compat_rule(name, {**rest, RULE_NAME: f"{file}:{class_name}"})


#: How long the rules may judge on after training ended, seconds.
GRACE_S = 300.0
_POLL_S = 0.1
_ROLE = "rule-"


class RuleProcesses:
    """One process for each rule of a job."""

    def __init__(self, spec: JobSpec, paths: JobPaths, records: Records) -> None:
        self._name, self._paths, self._records = spec.name, paths, records
        self._module = f"stepwatch.jobs.{'ray.' if spec.ray else ''}rule_process"
        self._is_stored = bool(spec.judges)
        self._processes: dict[int, JobProcess] = {}
        self._num_resumes = -1
        self._num_begun = 0

    def begin(self, num_rules: int) -> None:
        """Let all rules judge what is about to be trained, and nothing that was before."""
        for process in self._processes.values():
            process.end()
        self._processes.clear()
        self._num_resumes = -1 if self._is_stored else num_resumes(self._paths.tensors)
        self._num_begun = 0
        self.join(num_rules)

    def join(self, num_rules: int) -> None:
        """Let those judge, too, that the job has by now."""
        for number in range(self._num_begun, num_rules):
            command = [
                *(sys.executable, "-m", self._module),
                *(str(self._paths.home), self._name, str(number), str(self._num_resumes)),
            ]
            self._records.judge(self._name, number, "InProgress")
            process = JobProcess.start(
                f"{_ROLE}{number}", command, self._paths.rule_log(number), environment()
            )
            self._processes[number] = process
            self._records.add_process(self._name, process.record)
        self._num_begun = num_rules

    @property
    def num_resumes(self) -> int:
        """How often the run had been resumed before what they judge."""
        return self._num_resumes

    def adopt(self, num_resumes: int) -> None:
        """Look after those that another process began, by its ``num_resumes``."""
        self._num_resumes = num_resumes
        for record in self._records.processes(self._name):
            if record.role.startswith(_ROLE):
                number = int(record.role.removeprefix(_ROLE))
                log = self._paths.rule_log(number)
                self._processes[number] = JobProcess(record, exit_file_of(log))
        self._num_begun = max(self._processes, default=-1) + 1

    def poll(self) -> bool:
        """Note what became of those that have ended; return whether others go on."""
        for number, process in list(self._processes.items()):
            code = process.poll()
            if code is not None:
                process.end()  # what it started, too
                del self._processes[number]
                self._ended(number, code)
        return bool(self._processes)

    def finish(self, grace_s: float = GRACE_S) -> None:
        """Wait until all have judged the whole run; who takes too long is stopped."""
        give_up_at = time.monotonic() + grace_s
        while self.poll() and time.monotonic() < give_up_at:
            time.sleep(_POLL_S)
        for number, process in self._processes.items():
            process.end()
            why = f"it was not done {grace_s:g} s after the end"
            self._records.judge(self._name, number, "Stopped", why)

    def _ended(self, number: int, code: int) -> None:
        status = self._records.get(self._name).rules[number].status
        if status == "Stopping":
            self._records.judge(self._name, number, "Stopped", "stopped by its user")
        elif code or status == "InProgress":
            last = log_tail(self._paths.rule_log(number))
            how = f"its process ended by signal {-code}" if code < 0 else f"exit code {code}"
            self._records.judge(self._name, number, "Error", last if code > 0 and last else how)
