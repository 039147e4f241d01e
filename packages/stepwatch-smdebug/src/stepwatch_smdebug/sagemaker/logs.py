"""The logs of jobs, as CloudWatch shows them: a stream for each process that trains or judges.

A token holds a byte of a log, ``f/<byte>`` to go on and ``b/<byte>`` to go back.
At the end it stays the same: so clients see that there is nothing more, for now.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepwatch.errors import RequestRefused
from stepwatch.jobs.logs import LogTimes
from stepwatch.jobs.paths import JobPaths

from .account import Account
from .processing_jobs import all_jobs
from .training_jobs import find_job

Request = Mapping[str, Any]
Response = dict[str, Any]
TRAINING, PROCESSING = "/aws/sagemaker/TrainingJobs", "/aws/sagemaker/ProcessingJobs"
# As much as CloudWatch gives at once.
_MOST_EVENTS, _MOST_BYTES = 10_000, 1 << 20
_TOKEN = re.compile(r"([fb])/(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Stream:
    """The log of one process, by the name that clients use."""

    name: str
    log: Path
    times: LogTimes
    is_over: bool  # nothing will be written any more

    @property
    def end(self) -> int:
        """The byte after the last line that is whole, and known."""
        return self.times.size if self.is_over else self.line_start(self.times.size)

    def line_start(self, at: int) -> int:
        """Return where the line begins in which a byte is."""
        first = max(0, at - _MOST_BYTES)
        return first + self.read(first, at).rfind(b"\n") + 1

    def read(self, start: int, end: int) -> bytes:
        if not self.log.is_file():
            return b""
        with self.log.open("rb") as file:
            file.seek(start)
            return file.read(max(0, end - start))


def describe_streams(account: Account, request: Request) -> Response:
    """List the streams whose names begin in some way."""
    prefix = request.get("logStreamNamePrefix", "")
    found = [one for one in _streams(account, request, prefix) if one.name.startswith(prefix)]
    return {"logStreams": [_log_event(one) for one in found[: request.get("limit", 50)]]}


def get_events(account: Account, request: Request) -> Response:
    """Return what a process wrote, from a time or a token on."""
    name = request["logStreamName"]
    stream = next((one for one in _streams(account, request, name) if one.name == name), None)
    if stream is None:
        raise _missing("The specified log stream does not exist.")
    most = min(request.get("limit", _MOST_EVENTS), _MOST_EVENTS)
    start, lines = _page(stream, request, most)
    since, until = request.get("startTime", 0), request.get("endTime", float("inf"))
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


def _page(stream: Stream, request: Request, most: int) -> tuple[int, list[bytes]]:
    """Return some lines, and at which byte they begin."""
    end = stream.end
    is_forward, position = _decode_log_token(request, end)
    if position is None:
        position = stream.line_start(stream.times.start(request.get("startTime", 0)))
    if is_forward:
        last = min(end, position + _MOST_BYTES)
        data = stream.read(position, last)
        whole = data.rfind(b"\n") + 1 if last < end else 0
        return position, _lines(data[: whole or None])[:most]
    first = max(0, position - _MOST_BYTES)
    data = stream.read(first, position)
    data = data[data.find(b"\n") + 1 if first else 0 :]
    lines = _lines(data)[-most:]
    return position - sum(map(len, lines)), lines


def _decode_log_token(request: Request, end: int) -> tuple[bool, int | None]:
    """Return whether to read from a byte on, else up to it; and the byte, if it is given."""
    token = request.get("nextToken")
    if token is None:
        return (True, None) if request.get("startFromHead") else (False, end)
    found = _TOKEN.fullmatch(token)
    if not found:
        raise RequestRefused("InvalidParameterException", "The specified nextToken is invalid.")
    return found[1] == "f", min(int(found[2]), end)


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]  # what comes after the last end of a line
    return [line for line in lines if line]


def _streams(account: Account, request: Request, name: str) -> list[Stream]:
    """Return the streams of the jobs that a name, or the beginning of one, may mean."""
    group = request["logGroupName"]
    job = name.partition("/")[0]
    if group == TRAINING:
        return _of_training(account, job)
    if group == PROCESSING:
        return _of_rule(account, job)
    raise _missing("The specified log group does not exist.")


def _of_training(account: Account, job: str) -> list[Stream]:
    if job not in account.records.names():
        return []
    record = find_job(account, job)
    paths = JobPaths(account.records.home, job)
    begun, ended_ms = record.created_ns // 1_000_000, _ms(record.ended_ns)
    return [
        Stream(
            f"{job}/algo-{rank + 1}-{begun}",
            paths.log(rank),
            LogTimes.read(paths.log(rank), ended_ms),
            ended_ms is not None,
        )
        for rank in range(record.spec.processes)
        if paths.log(rank).is_file()
    ]


def _of_rule(account: Account, name: str) -> list[Stream]:
    streams = []
    for job in all_jobs(account):
        if job.name.lower() == name.lower():
            log = JobPaths(account.records.home, job.record.spec.name).rule_log(job.index)
            ended_ms = job.changed_ns // 1_000_000 if job.has_ended else None
            stream = f"{job.name}/algo-1-{job.created_ns // 1_000_000}"
            streams.append(Stream(stream, log, LogTimes.read(log, ended_ms), job.has_ended))
    return streams


def _log_event(stream: Stream) -> Response:
    response: Response = {"logStreamName": stream.name, "storedBytes": stream.times.size}
    if stream.times.size:
        response["firstEventTimestamp"] = stream.times.times_ms[0]
        response["lastEventTimestamp"] = stream.times.times_ms[-1]
    return response


def _ms(time_ns: int | None) -> int | None:
    return None if time_ns is None else time_ns // 1_000_000


def _missing(message: str) -> RequestRefused:
    return RequestRefused("ResourceNotFoundException", message)
