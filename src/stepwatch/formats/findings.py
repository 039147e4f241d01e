"""Findings and rule statuses in a run, one file each for every watcher."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress

from ..errors import CorruptRun
from ..store import Store
from .notes import ACTIONS_SUFFIX, FINDINGS, actions_key, findings_key, statuses_key


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
            kept = [line for line in lines if json.loads(line)["step"] < before]
            suffix = key.removeprefix(f"{FINDINGS}{who}")
            store.put(f"{FINDINGS}{who}-before-{number}{suffix}", b"".join(kept))
            store.delete(key)


def read_findings(store: Store) -> list[str]:
    """Return the lines of all watchers."""
    known = [key for key in store.list(FINDINGS) if not key.endswith(ACTIONS_SUFFIX)]
    keys = [key for key in known if key.endswith(".jsonl")]
    return [line for key in keys for line in store.get(key).decode().splitlines() if line]


def read_statuses(store: Store) -> list[dict[str, object]]:
    """Return the rule statuses of all watchers."""
    found: list[dict[str, object]] = []
    for key in store.list(FINDINGS):
        if key.endswith(".statuses.json"):
            try:
                found.extend(json.loads(store.get(key)))
            except ValueError as error:
                raise CorruptRun(key, 0, f"not rule statuses ({error})") from None
    return found
