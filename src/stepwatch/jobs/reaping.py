"""Jobs whose runner is gone: nobody else would ever note that they have ended."""

from __future__ import annotations

import time
from contextlib import suppress

from ..errors import StoreError
from .processes import end_group, is_alive
from .records import Records

# How long a runner may take from being started to being noted, seconds.
_BEGINNING_S = 60.0


def reap(records: Records) -> None:
    """End what is left of each job whose runner died, and note that it failed.

    Where that cannot be noted, because the disk is full, whoever asks later does it.
    """
    with suppress(StoreError):
        _reap(records)


def _reap(records: Records) -> None:
    for name, changed_ns in records.under_way():
        processes = records.processes(name)
        runner = next((one for one in processes if one.role == "runner"), None)
        if runner is None:
            is_gone = time.time_ns() - changed_ns > _BEGINNING_S * 1e9
        else:
            is_gone = not is_alive(runner)
        if is_gone:
            for process in processes:
                end_group(process)
            _note(records, name)


def _note(records: Records, name: str) -> None:
    why = "InternalError: the process that ran the job died"
    if records.end(name, "Failed", "Failed", why):
        for place, rule in enumerate(records.get(name).rules):
            if rule.status in ("InProgress", "Stopping"):
                records.judge(name, place, "Stopped", "the process that ran the job died")
