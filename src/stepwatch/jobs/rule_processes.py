"""The processes of a job's rules: a rule that crashes is an error of its own, and no other's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

from ..config import environment
from .ends import num_resumes
from .last_words import last_words
from .place import Place
from .processes import described, start
from .records import Records
from .spec import JobSpec

#: How long the rules may judge on after training ended, seconds.
GRACE_S = 300.0
_POLL_S = 0.1


class RuleProcesses:
    """One process for each rule of a job.

    Args:
        spec: The job.
        place: Its folder.
        records: Where the processes and what becomes of them are noted.
    """

    def __init__(self, spec: JobSpec, place: Place, records: Records) -> None:
        self._name, self._place, self._records = spec.name, place, records
        self._judging = f"stepwatch.jobs.{'ray.' if spec.ray else ''}judging"
        self._is_stored = bool(spec.judges)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._num_resumes = -1
        self._num_begun = 0

    def begin(self, num_rules: int) -> None:
        """Let all rules judge what is about to be trained, and nothing that was before."""
        for process in self._processes.values():
            _end(process)
        self._processes.clear()
        self._num_resumes = -1 if self._is_stored else num_resumes(self._place.tensors)
        self._num_begun = 0
        self.join(num_rules)

    def join(self, num_rules: int) -> None:
        """Let those judge, too, that the job has by now."""
        for number in range(self._num_begun, num_rules):
            command = [
                *(sys.executable, "-m", self._judging),
                *(str(self._place.home), self._name, str(number), str(self._num_resumes)),
            ]
            self._records.judge(self._name, number, "InProgress")
            process = start(command, self._place.rule_log(number), environment())
            self._processes[number] = process
            self._records.add_process(self._name, described(f"rule-{number}", process.pid))
        self._num_begun = num_rules

    def look(self) -> bool:
        """Note what became of those that have ended; return whether others go on."""
        for number, process in list(self._processes.items()):
            code = process.poll()
            if code is not None:
                del self._processes[number]
                self._ended(number, code)
        return bool(self._processes)

    def finish(self, grace_s: float = GRACE_S) -> None:
        """Wait until all have judged the whole run; who takes too long is stopped."""
        give_up_at = time.monotonic() + grace_s
        while self.look() and time.monotonic() < give_up_at:
            time.sleep(_POLL_S)
        for number, process in self._processes.items():
            _end(process)
            why = f"it was not done {grace_s:g} s after the end"
            self._records.judge(self._name, number, "Stopped", why)

    def _ended(self, number: int, code: int) -> None:
        status = self._records.get(self._name).rules[number].status
        if status == "Stopping":
            self._records.judge(self._name, number, "Stopped", "stopped by its user")
        elif code or status == "InProgress":
            said = last_words(self._place.rule_log(number))
            how = f"its process ended by signal {-code}" if code < 0 else f"exit code {code}"
            self._records.judge(self._name, number, "Error", said if code > 0 and said else how)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and what it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
