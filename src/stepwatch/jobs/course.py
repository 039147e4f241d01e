"""What a job goes through once its turn has come: it fetches, trains, is judged, stores."""

from __future__ import annotations

import signal
import time

from .contract import write_files
from .ends import mark_end, note_ends
from .inputs import fetch
from .job_record import JobRecord
from .last_words import last_words
from .log_times import LogClock
from .metrics import LogMetrics
from .outputs import Outputs
from .place import CONTAINER, Place, is_free
from .records import Records
from .rule_processes import RuleProcesses
from .training import Training

_POLL_S = 0.1


class Course:
    """Carries out one job.

    Args:
        records: Where it is noted.
        name: Of the job.
    """

    def __init__(self, records: Records, name: str) -> None:
        self._records, self._name = records, name
        self._place = Place(records.home, name)
        record = self._record()
        self._spec = record.spec
        #: How often it was trained before.
        self._attempt = sum(one.status == "Training" for one in record.transitions)
        self._rules = RuleProcesses(self._spec, self._place, self._records)
        self._clock = LogClock(self._place.logs)
        logs = [self._place.log(rank) for rank in range(self._spec.processes)]
        self._metrics = LogMetrics(self._spec.metrics, self._place, logs)

    def run(self) -> None:
        """Carry it out, to the end."""
        records, name = self._records, self._name
        records.move(name, "InProgress", "Downloading", "preparing the inputs")
        fetch(self._spec, self._place)
        self._outputs = Outputs(self._spec, self._place)
        write_files(self._record().spec, self._place)  # it may have been changed by now
        status, secondary, failure, code = self._judge() if self._spec.judges else self._train()
        self._clock.note()
        self._metrics.look(at_end=True)
        mark_end(self._place, self._spec)
        records.move(name, self._status(), "Uploading", "storing what was made")
        self._rules.finish()
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
            self._rules.begin(self._asked()[1])
            ended = self._train_once(attempt)
            if ended[0] != "Failed":
                break
        return ended

    def _train_once(self, attempt: int) -> tuple[str, str, str, int | None]:
        training = Training(self._spec, self._place, self._records, attempt)
        give_up_at = time.monotonic() + self._spec.max_run_s
        ended: tuple[str, str, str] | None = None
        try:
            while (code := training.exit_code()) is None:
                asked, num_rules = self._asked()
                self._rules.join(num_rules)
                self._rules.look()
                if self._clock.look():
                    self._metrics.look()
                if ended is None and asked is not None:
                    ended = "Stopped", "Stopped", asked
                    self._records.move(self._name, "Stopping", "Stopping", asked)
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
            note_ends(self._place, self._spec, ended[2])
            return *ended, code
        if code == 0:
            return "Completed", "Completed", "", code
        return "Failed", "Failed", self._failure(code), code

    def _judge(self) -> tuple[str, str, str, int | None]:
        """Let the rules judge a run that there is; return how the job ends."""
        self._records.move(self._name, self._status(), "Training", "judging")
        give_up_at = time.monotonic() + self._spec.max_run_s
        self._rules.begin(self._asked()[1])
        while self._rules.look():
            self._clock.look()
            asked = self._asked()[0]
            if asked is not None or time.monotonic() > give_up_at:
                self._rules.finish(0)
                return "Stopped", "Stopped", asked or "it judged too long", None
            time.sleep(_POLL_S)
        return "Completed", "Completed", "", None

    def _failure(self, code: int) -> str:
        """Return why training failed: what it says itself, else its last line."""
        if self._place.failure.is_file():
            said = self._place.failure.read_text(errors="replace").strip()
        else:
            ends = [last_words(self._place.log(rank)) for rank in range(self._spec.processes)]
            said = next(filter(None, ends), "")
        if f"{CONTAINER}/" in said and not is_free(CONTAINER):
            said += f"; to find its folder there as well, make an empty folder {CONTAINER}"
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"AlgorithmError: {said or 'it said nothing'} ({how})"

    def _record(self) -> JobRecord:
        return self._records.get(self._name)

    def _asked(self) -> tuple[str | None, int]:
        return self._records.asked(self._name)

    def _status(self) -> str:
        return "InProgress" if self._asked()[0] is None else "Stopping"
