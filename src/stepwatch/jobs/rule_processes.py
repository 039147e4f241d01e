"""The processes of a job's rules: a rule that crashes is an error of its own, and no other's."""

from __future__ import annotations

import subprocess
import sys
import time

from ..config import environment
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
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        for number in range(len(spec.rules)):
            command = [
                *(sys.executable, "-m", "stepwatch.jobs.judging"),
                *(str(place.home), spec.name, str(number)),
            ]
            process = start(command, place.rule_log(number), environment())
            self._processes[number] = process
            records.add_process(spec.name, described(f"rule-{number}", process.pid))

    def look(self) -> None:
        """Note what became of those that have ended."""
        for number, process in list(self._processes.items()):
            code = process.poll()
            if code is not None:
                del self._processes[number]
                if code:
                    self._crashed(number, code)

    def finish(self) -> None:
        """Wait until all have judged the whole run; who takes too long is stopped."""
        give_up_at = time.monotonic() + GRACE_S
        while self._processes and time.monotonic() < give_up_at:
            self.look()
            time.sleep(_POLL_S)
        for number, process in self._processes.items():
            process.kill()
            process.wait()
            why = f"it was not done {GRACE_S:g} s after the training"
            self._records.judge(self._name, number, "Stopped", why)

    def _crashed(self, number: int, code: int) -> None:
        log = self._place.rule_log(number)
        said = log.read_text(errors="replace").rstrip().rpartition("\n")[2]
        why = said if code > 0 and said else f"its process ended by signal {-code}"
        self._records.judge(self._name, number, "Error", why)
