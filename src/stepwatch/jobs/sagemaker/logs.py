"""The logs of jobs, as CloudWatch shows them: a stream for each process that trains or judges.

A token says at which byte of a log one stands, ``f/<byte>`` to go on and ``b/<byte>`` to go back.
At the end it stays the same: so clients see that there is nothing more, for now.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import RequestRefused
from ..log_times import LogTimes
from ..place import Place
from .account import Account
from .processing_jobs import all_jobs
from .training_jobs import known

Asked = Mapping[str, Any]
Answer = dict[str, Any]
TRAINING, PROCESSING = "/aws/sagemaker/TrainingJobs", "/aws/sagemaker/ProcessingJobs"
# As much as CloudWatch gives at once.
_MOST_EVENTS, _MOST_BYTES = 10_000, 1 << 20
_TOKEN = re.compile(r"([fb])/(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Stream:
    """The log of one process.

    Args:
        name: As clients call it.
        log: The file.
        times: When its lines were written.
        is_over: Whether nothing will be written any more.
    """

    name: str
    log: Path
    times: LogTimes
    is_over: bool

    @property
    def end(self) -> int:
        """The byte after the last line that is whole, and known."""
        return self.times.size if self.is_over else self.line_start(self.times.size)

    def line_start(self, place: int) -> int:
        """Return where the line begins in which a byte is."""
        first = max(0, place - _MOST_BYTES)
        return first + self.read(first, place).rfind(b"\n") + 1

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes of a part."""
        if not self.log.is_file():
            return b""
        with self.log.open("rb") as file:
            file.seek(start)
            return file.read(max(0, end - start))


def describe_streams(account: Account, asked: Asked) -> Answer:
    """List the streams whose names begin in some way."""
    prefix = asked.get("logStreamNamePrefix", "")
    found = [one for one in _streams(account, asked, prefix) if one.name.startswith(prefix)]
    return {"logStreams": [_told(one) for one in found[: asked.get("limit", 50)]]}


def get_events(account: Account, asked: Asked) -> Answer:
    """Return what a process wrote, from a time or a token on."""
    name = asked["logStreamName"]
    stream = next((one for one in _streams(account, asked, name) if one.name == name), None)
    if stream is None:
        raise _missing("The specified log stream does not exist.")
    most = min(asked.get("limit", _MOST_EVENTS), _MOST_EVENTS)
    start, lines = _page(stream, asked, most)
    since, until = asked.get("startTime", 0), asked.get("endTime", float("inf"))
    events, end = [], start
    for line in lines:
        end += len(line)
        time_ms = stream.times.time_ms(end)
        if since <= time_ms < until:
            text = line.rstrip(b"\n").decode(errors="replace")
            events.append({"timestamp": time_ms, "message": text, "ingestionTime": time_ms})
    return {
        "events": events,
        "nextForwardToken": f"f/{end}",
        "nextBackwardToken": f"b/{start}",
    }


def _page(stream: Stream, asked: Asked, most: int) -> tuple[int, list[bytes]]:
    """Return some lines, and at which byte they begin."""
    end = stream.end
    is_forward, place = _place(asked, end)
    if place is None:
        place = stream.line_start(stream.times.start(asked.get("startTime", 0)))
    if is_forward:
        last = min(end, place + _MOST_BYTES)
        data = stream.read(place, last)
        whole = data.rfind(b"\n") + 1 if last < end else 0
        return place, _lines(data[: whole or None])[:most]
    first = max(0, place - _MOST_BYTES)
    data = stream.read(first, place)
    data = data[data.find(b"\n") + 1 if first else 0 :]
    lines = _lines(data)[-most:]
    return place - sum(map(len, lines)), lines


def _place(asked: Asked, end: int) -> tuple[bool, int | None]:
    """Return whether to read from a byte on, else up to it; and the byte, if that is said."""
    token = asked.get("nextToken")
    if token is None:
        return (True, None) if asked.get("startFromHead") else (False, end)
    found = _TOKEN.fullmatch(token)
    if not found:
        raise RequestRefused("InvalidParameterException", "The specified nextToken is invalid.")
    return found[1] == "f", min(int(found[2]), end)


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]  # what comes after the last end of a line
    return [line for line in lines if line]


def _streams(account: Account, asked: Asked, name: str) -> list[Stream]:
    """Return the streams of the jobs that a name, or the beginning of one, may mean."""
    group = asked["logGroupName"]
    job = name.partition("/")[0]
    if group == TRAINING:
        return _of_training(account, job)
    if group == PROCESSING:
        return _of_rule(account, job)
    raise _missing("The specified log group does not exist.")


def _of_training(account: Account, job: str) -> list[Stream]:
    if job not in account.records.names():
        return []
    record = known(account, job)
    place = Place(account.records.home, job)
    begun, ended_ms = record.created_ns // 1_000_000, _ms(record.ended_ns)
    return [
        Stream(
            f"{job}/algo-{rank + 1}-{begun}",
            place.log(rank),
            LogTimes.read(place.log(rank), ended_ms),
            ended_ms is not None,
        )
        for rank in range(record.spec.processes)
        if place.log(rank).is_file()
    ]


def _of_rule(account: Account, name: str) -> list[Stream]:
    streams = []
    for job in all_jobs(account):
        if job.name.lower() == name.lower():
            log = Place(account.records.home, job.record.spec.name).rule_log(job.place)
            ended_ms = job.changed_ns // 1_000_000 if job.has_ended else None
            stream = f"{job.name}/algo-1-{job.created_ns // 1_000_000}"
            streams.append(Stream(stream, log, LogTimes.read(log, ended_ms), job.has_ended))
    return streams


def _told(stream: Stream) -> Answer:
    told: Answer = {"logStreamName": stream.name, "storedBytes": stream.times.size}
    if stream.times.size:
        told["firstEventTimestamp"] = stream.times.times_ms[0]
        told["lastEventTimestamp"] = stream.times.times_ms[-1]
    return told


def _ms(time_ns: int | None) -> int | None:
    return None if time_ns is None else time_ns // 1_000_000


def _missing(message: str) -> RequestRefused:
    return RequestRefused("ResourceNotFoundException", message)
