"""Findings, rule statuses and actions in a run: one file of each for every watcher."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Literal

from ..errors import CorruptRun
from ..model.finding import Finding
from ..model.json_text import parse_json
from ..store import Store
from .manifest import ACTIONS_SUFFIX, FINDINGS, actions_key, findings_key, statuses_key


def write_findings(store: Store, who: str, lines: Iterable[str]) -> None:
    """Store all findings of a watcher, a line of JSON each; replaces what it stored before."""
    store.put(findings_key(who), "".join(f"{line}\n" for line in lines).encode())


def write_statuses(store: Store, who: str, statuses: Iterable[Mapping[str, object]]) -> None:
    """Store where each rule of a watcher stands."""
    store.put(statuses_key(who), json.dumps(list(statuses), indent=1).encode())


def keep_findings(store: Store, who: str, before: int) -> None:
    """Put aside what was found at steps before this one, as the watcher begins anew there."""
    number = 1 + sum("-before-" in key for key in store.list(f"{FINDINGS}{who}-before-"))
    for key in (findings_key(who), actions_key(who)):
        with suppress(FileNotFoundError):
            lines = store.get(key).splitlines(keepends=True)
            kept = [line for line in lines if parse_json(line)["step"] < before]
            suffix = key.removeprefix(f"{FINDINGS}{who}")
            store.put(f"{FINDINGS}{who}-before-{number}{suffix}", b"".join(kept))
            store.delete(key)


def read_findings(store: Store) -> list[str]:
    """Return the lines of all watchers."""
    return [line for _, line in _lines(store)]


def parse_findings(store: Store) -> list[Finding]:
    """Return the findings of all watchers.

    Raises:
        CorruptRun: A line is none that ``write_findings`` wrote.
    """
    found = []
    for key, line in _lines(store):
        try:
            found.append(Finding.from_json(line))
        except (TypeError, ValueError) as error:
            raise CorruptRun(key, 0, f"not findings ({error})") from None
    return found


def _lines(store: Store) -> Iterator[tuple[str, str]]:
    for key in store.list(FINDINGS):
        if key.endswith(".jsonl") and not key.endswith(ACTIONS_SUFFIX):
            try:
                lines = store.get(key).decode().splitlines()
            except UnicodeDecodeError as error:
                raise CorruptRun(key, error.start, "not findings (no UTF-8)") from None
            yield from ((key, line) for line in lines if line)


_STATUS = {
    "rule": str,
    "status": str,
    "evaluations": int,
    "findings": int,
    "details": str,
    "idle": bool,
    "judged": bool,
}


def read_statuses(store: Store) -> list[dict[str, object]]:
    """Return the rule statuses of all watchers.

    Raises:
        CorruptRun: They are none that ``write_statuses`` wrote.
    """
    found: list[dict[str, object]] = []
    for key in store.list(FINDINGS):
        if key.endswith(".statuses.json"):
            try:
                found += [
                    {name: kind(one[name]) for name, kind in _STATUS.items() if name in one}
                    for one in parse_json(store.get(key))
                ]
            except (TypeError, ValueError) as error:
                raise CorruptRun(key, 0, f"not rule statuses ({error})") from None
            if not all(one.keys() >= _STATUS.keys() - {"idle", "judged"} for one in found):
                raise CorruptRun(key, 0, "not rule statuses")
    return found


Outcome = Literal["done", "failed", "retried", "dry-run", "limited"]


@dataclass(frozen=True, slots=True)
class ActionNote:
    """One thing that an action did, or did not, and why.

    Args:
        time_ns: When, nanoseconds since the Unix epoch.
        finding_id: About which finding.
        rule: The rule that found it.
        step: The global step of it.
        action: The name of the action.
        entry: 16 hexadecimal digits that stand for the action and its parameters.
        outcome: ``done``; ``failed``, for good; ``retried``: it failed, and is tried again;
            ``dry-run``: it would have been done; ``limited``: a rate limit was reached.
        detail: What was done, or which limit it was.
        error: What failed; empty for nothing.
    """

    time_ns: int
    finding_id: str
    rule: str
    step: int
    action: str
    entry: str
    outcome: Outcome
    detail: str = ""
    error: str = ""


def write_actions(store: Store, who: str, notes: Iterable[ActionNote]) -> None:
    """Store all notes of a watcher, a line of JSON each; replaces what it stored before."""
    lines = (json.dumps(asdict(note), sort_keys=True) for note in notes)
    store.put(actions_key(who), "".join(f"{line}\n" for line in lines).encode())


def read_actions(store: Store) -> list[ActionNote]:
    """Return the notes of all watchers, in the order of their times.

    Raises:
        CorruptRun: A line is none that ``write_actions`` wrote.
    """
    notes = []
    for key in store.list(FINDINGS):
        if key.endswith(ACTIONS_SUFFIX):
            for line in store.get(key).splitlines():
                try:
                    notes.append(ActionNote(**parse_json(line)))
                except (TypeError, ValueError) as error:
                    raise CorruptRun(key, 0, f"not notes of actions ({error})") from None
    return sorted(notes, key=lambda note: note.time_ns)
