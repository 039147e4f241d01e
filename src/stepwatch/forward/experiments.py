# ruff: noqa: ARG002  no tracker has a use for all that it is given
"""Experiment trackers of which a script has a run open: W&B, MLflow, trackio, Comet, ClearML."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..hooks.patching import Function, PatchSet
from .last_made import LastMade
from .tracker import Finding, RunSummary, Tracker, finding_detail, finding_text, finding_title

_LEVELS = {"info": "INFO", "warning": "WARN", "error": "ERROR"}
_LOGGING = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def _before(owner: Any, name: str, call: Callable[[], None]) -> Callable[[], None]:
    """Have something called before a method of an object; return what undoes that."""

    def make(original: Function) -> Function:
        def called(*args: Any, **kwargs: Any) -> Any:
            call()
            return original(*args, **kwargs)

        return called

    patches = PatchSet()
    patches.put(owner, name, make)
    return patches.remove


class Wandb(Tracker):
    """Alerts, summary and configuration of a run of Weights & Biases."""

    def open_run(self) -> Any:
        return getattr(sys.modules.get("wandb"), "run", None)

    def begin(self, run: Any, url: str) -> None:
        run.config.update({"stepwatch_run": url}, allow_val_change=True)
        run.define_metric("stepwatch/step", hidden=True)
        run.define_metric("stepwatch/*", step_metric="stepwatch/step")

    def finding(self, run: Any, finding: Finding, number: int) -> None:
        # one alert a minute is sent under one title, unless a shorter time is given
        run.alert(
            finding_title(finding)[:63],
            finding_detail(finding),
            level=_LEVELS[finding.severity],
            wait_duration=0.001,
        )
        run.summary["stepwatch/findings"] = number

    def scalars(self, run: Any, step: int, values: Mapping[str, float]) -> None:
        # with the next row that the script logs: a row of ours would count as a step of its own
        rows = {f"stepwatch/{name}": value for name, value in values.items()}
        run.log({**rows, "stepwatch/step": step}, commit=False)

    def summary(self, run: Any, summary: RunSummary) -> None:
        run.summary.update({f"stepwatch/{name}": one for name, one in summary.values().items()})

    def before_end(self, run: Any, call: Callable[[], None]) -> Callable[[], None]:
        # what "finish", the end of a "with" and the end of the process all call
        return _before(run, "_finish" if hasattr(run, "_finish") else "finish", call)


# What fits into a tag of MLflow, and a run of a file store takes no longer one.
_LONGEST_TAG = 4_500
_DESCRIPTION = "mlflow.note.content"


class Mlflow(Tracker):
    """Tags and metrics of a run of MLflow; one that has ended still takes them."""

    def __init__(self) -> None:
        # its own "active_run" knows those of one thread, and none once "with" has ended
        self._active = LastMade(["mlflow.tracking.fluent"], "ActiveRun")
        self._last: Any = None
        self._lines: dict[str, list[str]] = {}
        self._described: dict[str, str] = {}

    def prepare(self) -> None:
        self._active.begin()

    def open_run(self) -> Any:
        run = self._active.get()
        self._last = self._last if run is None else run.info.run_id
        return self._last

    def begin(self, run: Any, url: str) -> None:
        self._client().set_tag(run, "stepwatch.run", url)

    def finding(self, run: Any, finding: Finding, number: int) -> None:
        lines = self._lines.setdefault(run, [])
        lines.append(finding.headline())
        client = self._client()
        client.set_tag(run, "stepwatch.found", "\n".join(lines)[:_LONGEST_TAG])
        client.log_metric(run, "stepwatch/findings", number, step=max(finding.step, 0))

    def scalars(self, run: Any, step: int, values: Mapping[str, float]) -> None:
        client = self._client()
        for name, value in values.items():
            client.log_metric(run, f"stepwatch/{name}", value, step=step)

    def summary(self, run: Any, summary: RunSummary) -> None:
        client = self._client()
        for name, value in summary.values().items():
            client.set_tag(run, f"stepwatch.{name}", str(value)[:_LONGEST_TAG])
        self._describe(client, run, summary)

    def _describe(self, client: Any, run: Any, summary: RunSummary) -> None:
        """Write the description of a run that has none but ours; its page begins with that."""
        written = client.get_run(run).data.tags.get(_DESCRIPTION, "")
        if written in ("", self._described.get(run)):
            self._described[run] = summary.markdown()[:_LONGEST_TAG]
            client.set_tag(run, _DESCRIPTION, self._described[run])

    def close(self) -> None:
        self._active.end()

    @staticmethod
    def _client() -> Any:
        return sys.modules["mlflow"].MlflowClient()


class Trackio(Tracker):
    """Alerts of a run of trackio, and numbers beside those of the machine.

    A row of the script's own would count as one of its steps; rows of the machine have times.
    """

    def __init__(self) -> None:
        # what it calls the current run is that of one thread
        self._made = LastMade(["trackio.run"], "Run")

    def prepare(self) -> None:
        self._made.begin()

    def open_run(self) -> Any:
        return self._made.get()

    def finding(self, run: Any, finding: Finding, number: int) -> None:
        self._alert(run, finding_title(finding), finding_detail(finding), finding.severity)

    def scalars(self, run: Any, step: int, values: Mapping[str, float]) -> None:
        run.log_system({f"stepwatch/{name}": one for name, one in values.items()})

    def summary(self, run: Any, summary: RunSummary) -> None:
        severity = "info" if summary.advice.startswith("CONTINUE") else "warning"
        self._alert(run, summary.title(), summary.text(), severity)

    def before_end(self, run: Any, call: Callable[[], None]) -> Callable[[], None]:
        return _before(run, "finish", call)

    def close(self) -> None:
        self._made.end()

    @staticmethod
    def _alert(run: Any, title: str, text: str, severity: str) -> None:
        levels = sys.modules["trackio"].AlertLevel
        # its page shows a break as a space
        text = text.replace("\n", " — ")
        run.alert(title=title, text=text, level=getattr(levels, _LEVELS[severity]))


class Comet(Tracker):
    """Texts, a tag and other values of an experiment of Comet.

    Numbers would move the step by which it counts what the script logs, and are left out.
    """

    def open_run(self) -> Any:
        find = getattr(sys.modules.get("comet_ml"), "get_running_experiment", None)
        run = None if find is None else find()
        return run if getattr(run, "alive", False) else None

    def begin(self, run: Any, url: str) -> None:
        run.log_other("stepwatch/run", url)

    def finding(self, run: Any, finding: Finding, number: int) -> None:
        facts = {"rule": finding.rule, "severity": finding.severity, "step": finding.step}
        run.log_text(finding_text(finding), metadata=facts)
        run.log_other("stepwatch/findings", number)

    def summary(self, run: Any, summary: RunSummary) -> None:
        run.log_others({f"stepwatch/{name}": one for name, one in summary.values().items()})
        run.add_tag(f"stepwatch {summary.verdict}")

    def before_end(self, run: Any, call: Callable[[], None]) -> Callable[[], None]:
        return _before(run, "end", call)


class Clearml(Tracker):
    """Log lines, scalars, tags and properties of a task of ClearML."""

    def open_run(self) -> Any:
        # its own "current_task" may start one
        kind = getattr(sys.modules.get("clearml"), "Task", None)
        return getattr(kind, "_Task__main_task", None)

    def begin(self, run: Any, url: str) -> None:
        run.set_user_properties(stepwatch_run=url)

    def finding(self, run: Any, finding: Finding, number: int) -> None:
        logger = run.get_logger()
        level = _LOGGING[finding.severity]
        logger.report_text(f"stepwatch: {finding_text(finding)}", level, print_console=False)
        logger.report_scalar("stepwatch", "findings", number, max(finding.step, 0))

    def scalars(self, run: Any, step: int, values: Mapping[str, float]) -> None:
        logger = run.get_logger()
        for name, value in values.items():
            if math.isfinite(value):  # it would show 0 for nan
                logger.report_scalar("stepwatch", name, value, step)

    def summary(self, run: Any, summary: RunSummary) -> None:
        run.set_user_properties(
            **{f"stepwatch_{name}": str(value) for name, value in summary.values().items()}
        )
        run.add_tags([f"stepwatch {summary.verdict}"])

    def before_end(self, run: Any, call: Callable[[], None]) -> Callable[[], None]:
        return _before(run, "close", call)
