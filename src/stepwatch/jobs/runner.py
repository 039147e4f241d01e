"""The process that carries out one job: ``python -m stepwatch.jobs.runner HOME JOB``.

It waits for its turn, starts the training and the rules, and notes what becomes of them. If it is
killed, Linux ends the processes that it started, and whoever next asks notes that the job failed.
"""

from __future__ import annotations

import os
import signal
import sys
import tarfile
import time
import traceback
from pathlib import Path
from tempfile import TemporaryFile

from ..config import jobs_at_once
from ..formats.copying import RunCopy
from ..store import Store, open_store, put_parts
from .contract import write_files
from .ends import note_ends
from .job_record import JobRecord
from .pieces import FilePieces
from .place import Place
from .processes import described
from .reaping import reap
from .records import Records
from .rule_processes import RuleProcesses
from .training import Training

_POLL_S = 0.1
_QUEUE_POLL_S = 0.5


class Runner:
    """Carries out one job.

    Args:
        home: Where the records are.
        name: Of the job.
    """

    def __init__(self, home: Path, name: str) -> None:
        self._records, self._name = Records(home), name
        self._place = Place(home, name)
        self._spec = self._records.get(name).spec

    def run(self) -> None:
        """Carry it out, to the end; whatever is raised ends in the records."""
        records, name = self._records, self._name
        records.add_process(name, described("runner", os.getpid()))
        try:
            if not self._wait_for_turn():
                records.end(name, "Stopped", "Stopped", "stopped before it began")
                return
            records.move(name, "InProgress", "Downloading", "preparing the inputs")
            write_files(self._spec, self._place)
            rules = RuleProcesses(self._spec, self._place, records)
            status, secondary, failure, code = self._train(rules)
            records.move(name, self._status(), "Uploading", "storing what was made")
            rules.finish()
            self._upload()
            records.end(name, status, secondary, failure, code)
        except Exception as error:  # noqa: BLE001  the last resort: it must not be under way for ever
            traceback.print_exc()
            records.end(name, "Failed", "Failed", f"InternalError: {type(error).__name__}: {error}")

    def _wait_for_turn(self) -> bool:
        """Return whether it may begin; it may not if it is stopped before."""
        while not self._records.take_slot(self._name, jobs_at_once()):
            if self._record().stop_asked is not None:
                return False
            reap(self._records)  # who died before may still hold a place
            time.sleep(_QUEUE_POLL_S)
        return self._record().stop_asked is None

    def _train(self, rules: RuleProcesses) -> tuple[str, str, str, int | None]:
        """Train, again if it fails and may; return how the job ends."""
        for attempt in range(self._spec.retries + 1):
            message = "training" if not attempt else f"training, attempt {attempt + 1}"
            self._records.move(self._name, "InProgress", "Training", message)
            ended = self._train_once(rules, attempt)
            if ended[0] != "Failed":
                break
        return ended

    def _train_once(self, rules: RuleProcesses, attempt: int) -> tuple[str, str, str, int | None]:
        training = Training(self._spec, self._place, self._records, attempt)
        give_up_at = time.monotonic() + self._spec.max_run_s
        ended: tuple[str, str, str] | None = None
        try:
            while (code := training.exit_code()) is None:
                rules.look()
                asked = self._record().stop_asked
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

    def _failure(self, code: int) -> str:
        """Return why training failed: what it says itself, else its last line."""
        if self._place.failure.is_file():
            said = self._place.failure.read_text(errors="replace").strip()
        else:
            logs = [self._place.log(rank) for rank in range(self._spec.processes)]
            ends = [log.read_text(errors="replace").rstrip() for log in logs if log.exists()]
            said = next((end.rpartition("\n")[2] for end in ends if end), "")
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"AlgorithmError: {said or 'it said nothing'} ({how})"

    def _upload(self) -> None:
        """Put what was made where the job wants it, too."""
        if not self._spec.output:
            return
        store = open_store(self._spec.output_url)
        for archive, folder in (("model", "model"), ("output", "output/data")):
            _put_archive(store, f"output/{archive}.tar.gz", self._place.root / folder)
        _put_folder(store, "tensorboard-output", self._place.tensorboard)
        if self._place.tensors.is_dir():  # what the training could not copy while it went on
            RunCopy(open_store(self._place.tensors), open_store(self._spec.copy_url)).advance()

    def _record(self) -> JobRecord:
        return self._records.get(self._name)

    def _status(self) -> str:
        return "InProgress" if self._record().stop_asked is None else "Stopping"


def _put_archive(store: Store, key: str, folder: Path) -> None:
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    with TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w:gz") as archive:
            for path in sorted(folder.iterdir()):
                archive.add(path, path.name)
        put_parts(store, key, FilePieces(file))


def _put_folder(store: Store, prefix: str, folder: Path) -> None:
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if path.is_file():
            store.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())


if __name__ == "__main__":
    Runner(Path(sys.argv[1]), sys.argv[2]).run()
