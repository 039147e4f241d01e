"""What was done about findings: an audit log in the run, one for each watcher."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from ..errors import CorruptRun
from ..store import Store
from .notes import ACTIONS_SUFFIX, FINDINGS, actions_key

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
                    notes.append(ActionNote(**json.loads(line)))
                except (TypeError, ValueError) as error:
                    raise CorruptRun(key, 0, f"not notes of actions ({error})") from None
    return sorted(notes, key=lambda note: note.time_ns)
