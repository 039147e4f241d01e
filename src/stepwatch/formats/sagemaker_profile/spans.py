"""Events of SageMaker's traces as the intervals that all profiles have."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from ..profile.tables import Span
from .events import Event

_STEP = re.compile(r"Step:ModeKeys\.(\w+)")
#: Kinds of intervals, by what their phase begins with.
_KINDS = (
    (re.compile(r"(Forward|Backward)-SubModuleInternal"), "layer"),
    (re.compile(r"Forward|Backward|Data(?=loading)"), "phase"),
    (re.compile(r"Data(Loader|Iterator|set)|DataLoaderIter", re.IGNORECASE), "loader"),
    (re.compile(r"NcclManager"), "collective"),
    (re.compile(r"[cg]pu_functions|/device|/host"), "operator"),
)
_OF_SOURCE = {"horovod_": "collective", "smdataparallel_": "collective"}


def as_span(event: Event, source: str) -> Span:
    """Return an event as an interval.

    Args:
        event: The event.
        source: What kind of file it is from, such as ``horovod_``.

    Example:
        >>> name = "Step:ModeKeys.TRAIN"
        >>> as_span(Event(5, 2, name, name, "88", "", {"step_num": "7"}), "python")[2:]
        ('step', 'TRAIN', 'TRAIN', 7, '88')
    """
    step = str(event.args.get("step_num", ""))
    number = int(step) if step.isdigit() else -1
    thread = f"{event.process}/{event.thread}" if event.thread else event.process
    is_step = _STEP.match(event.phase) or _STEP.match(event.name)
    if is_step:
        return Span(*event[:2], "step", is_step[1], is_step[1], number, thread)
    return Span(*event[:2], *_kind_and_name(event, source), "", number, thread)


def with_modes(spans: Sequence[Span]) -> list[Span]:
    """Return intervals with the modes of the steps that they are in, which only steps tell.

    Args:
        spans: Of one who wrote, in any order.
    """
    steps = sorted(span for span in spans if span.kind == "step")
    starts = [step.start_ns for step in steps]

    def of_step(span: Span) -> Span:
        at = bisect_right(starts, span.start_ns) - 1
        if span.mode or span.step < 0 or at < 0 or steps[at].step != span.step:
            return span
        return span._replace(mode=steps[at].mode)

    return [of_step(span) for span in spans]


def _kind_and_name(event: Event, source: str) -> tuple[str, str]:
    kind = _OF_SOURCE.get(source) or next(
        (kind for begins, kind in _KINDS if begins.match(event.phase)), "other"
    )
    way = event.phase.partition("-")[0].lower()
    if kind == "layer":
        return kind, f"{event.name}:{way}"
    if kind == "phase":
        return kind, way
    if kind == "collective" and source == "horovod_" and event.phase:
        return kind, f"{event.phase}:{event.name}"
    return kind, event.name
