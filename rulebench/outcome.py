"""What the rules said of one training, as plain data; and the file that keeps it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import stepwatch
from stepwatch.model.finding import Finding

_SOURCES = Path(stepwatch.__file__).parent
#: What only reads, judges or shows: it does not change what is captured.
_NOT_CAPTURE = {"rules", "cli", "plots", "actions", "trial", "testing"}


@dataclass(frozen=True)
class Outcome:
    """What became of one program with one seed.

    Args:
        program: Its name.
        seed: The seed.
        version: Of the rules, of what is captured, and of the program; see ``version``.
        trained: How many TRAIN steps there were.
        findings: What was found, as ``Finding.to_dict`` gives it, each with ``trained``: how many
            TRAIN steps had begun.
        statuses: How each rule ended, by its name.
        error: How the training itself ended, if by an exception.
        failure: Why it could not be judged; empty if it was.
        seconds: How long training and judging took, in wall-clock time.
    """

    program: str
    seed: int
    version: str
    trained: int = 0
    findings: Sequence[Mapping[str, object]] = ()
    statuses: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    failure: str = ""
    seconds: float = 0.0

    def found(self) -> list[tuple[Finding, int]]:
        """Return the findings, each with the number of TRAIN steps that had begun."""
        return [
            (
                Finding.from_json(json.dumps({k: v for k, v in one.items() if k != "trained"})),
                int(str(one["trained"])),
            )
            for one in self.findings
        ]


class Outcomes:
    """Outcomes in a file of JSON lines; the last line of a key counts.

    Args:
        path: The file; made when the first outcome is added.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[tuple[str, int, str], Outcome] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                self._remember(Outcome(**json.loads(line)))
            except ValueError:
                continue  # the end of a line that a kill cut off

    def judged(self, program: str, seed: int, version: str) -> Outcome | None:
        """Return the outcome if one is there; a failure of ours is none, and is tried again."""
        outcome = self._known.get((program, seed, version))
        return None if outcome is None or outcome.failure else outcome

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome."""
        self._remember(outcome)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _remember(self, outcome: Outcome) -> None:
        self._known[outcome.program, outcome.seed, outcome.version] = outcome


def capture_digest(policy: Iterable[str]) -> str:
    """Return a name of what is captured and how: another one when its source changes."""
    files = [
        path
        for path in sorted([*_SOURCES.rglob("*.py"), *_SOURCES.rglob("*.c")])
        if path.relative_to(_SOURCES).parts[0] not in _NOT_CAPTURE
    ]
    return _digest(files, policy)


def rules_digest(specs: Iterable[str]) -> str:
    """Return a name of the rules: another one when their source or parameters change."""
    return _digest(sorted((_SOURCES / "rules").glob("*.py")), specs)


def _digest(files: Iterable[Path], texts: Iterable[str]) -> str:
    digest = hashlib.blake2b(digest_size=4)
    for path in files:
        digest.update(path.read_bytes())
    for text in texts:
        digest.update(f"{text};".encode())
    return digest.hexdigest()
