"""The keys of what lies beside the observations of a run, in whatever format those are."""

from __future__ import annotations

RUN_KEY = "run.json"
FINDINGS = "findings/"
END = "end/"
WORKERS = "workers/"
ACTIONS_SUFFIX = ".actions.jsonl"


def findings_key(who: str) -> str:
    """Return the key of the findings of one watcher, such as a worker."""
    return f"{FINDINGS}{who}.jsonl"


def statuses_key(who: str) -> str:
    """Return the key of the rule statuses of one watcher."""
    return f"{FINDINGS}{who}.statuses.json"


def actions_key(who: str) -> str:
    """Return the key of what was done about the findings of one watcher."""
    return f"{FINDINGS}{who}{ACTIONS_SUFFIX}"


def end_key(worker: str) -> str:
    """Return the key of the note that a worker leaves when its run ends."""
    return f"{END}{worker}.json"


def worker_key(worker: str) -> str:
    """Return the key of the note that says which process a worker is."""
    return f"{WORKERS}{worker}.json"
