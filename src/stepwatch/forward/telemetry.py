# ruff: noqa: ARG002  no tracker has a use for all that it is given
"""OpenTelemetry and Prometheus: what is found, for those who watch machines."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from ..config import environment
from ..errors import ConfigError
from ..plugins.registry import require
from .tracker import Finding, RunSummary, Tracker, finding_text

_ENDPOINTS = ("", "_LOGS", "_METRICS")
_OTLP = "OTEL_EXPORTER_OTLP{}_ENDPOINT"


class OpenTelemetry(Tracker):
    """Log records and gauges by OTLP over HTTP, where the variables of OpenTelemetry say so.

    Findings are records of the logger ``stepwatch``; numbers are gauges ``stepwatch.run.NAME``.
    What is not told an address of its own, by ``OTEL_EXPORTER_OTLP_LOGS_ENDPOINT`` or
    ``_METRICS_ENDPOINT``, goes to ``OTEL_EXPORTER_OTLP_ENDPOINT``.
    """

    def __init__(self) -> None:
        self._providers: tuple[Any, ...] = ()

    def open_run(self) -> Any:
        if not self._providers and _is_wanted():
            self._open()
        return self._providers or None

    def finding(self, run: Any, finding: Finding, number: int) -> None:
        facts = finding.to_dict()
        names = ("rule", "severity", "step", "mode", "tensor", "worker", "finding_id", "remedy")
        self._emit(finding.severity, finding_text(finding), {one: facts[one] for one in names})
        self.scalars(run, finding.step, {"findings": number})

    def scalars(self, run: Any, step: int, values: Mapping[str, float]) -> None:
        meters = run[1].get_meter("stepwatch")
        for name, value in {**values, "step": step}.items():
            if not math.isfinite(value):  # its SDK takes none, and would say so each time
                continue
            meters.create_gauge(f"stepwatch.run.{name}").set(value)
        run[1].force_flush()

    def summary(self, run: Any, summary: RunSummary) -> None:
        severity = "info" if summary.advice.startswith("CONTINUE") else "warning"
        self._emit(severity, summary.headline, summary.values())

    def close(self) -> None:
        for provider in self._providers:
            provider.shutdown()

    def _open(self) -> None:
        sdk = "opentelemetry.sdk"
        http = "opentelemetry.exporter.otlp.proto.http"
        resources = require(f"{sdk}.resources", extra="otel")
        logs = require(f"{sdk}._logs", extra="otel")
        processors = require(f"{sdk}._logs.export", extra="otel")
        metrics = require(f"{sdk}.metrics", extra="otel")
        readers = require(f"{sdk}.metrics.export", extra="otel")
        log_exporter = require(f"{http}._log_exporter", extra="otel")
        metric_exporter = require(f"{http}.metric_exporter", extra="otel")
        # What is asked for is sent at once, and by this thread: none of theirs is started.
        resource = resources.Resource.create({"telemetry.source": "stepwatch"})
        logger = logs.LoggerProvider(resource=resource, shutdown_on_exit=False)
        logger.add_log_record_processor(
            processors.SimpleLogRecordProcessor(log_exporter.OTLPLogExporter())
        )
        reader = readers.PeriodicExportingMetricReader(
            metric_exporter.OTLPMetricExporter(), export_interval_millis=math.inf
        )
        meter = metrics.MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        self._providers = (logger, meter)

    def _emit(self, severity: str, body: str, facts: Mapping[str, object]) -> None:
        api = require("opentelemetry._logs", extra="otel")
        number = {"info": "INFO", "warning": "WARN", "error": "ERROR"}[severity]
        self._providers[0].get_logger("stepwatch").emit(
            api.LogRecord(
                timestamp=time.time_ns(),
                severity_text=number,
                severity_number=api.SeverityNumber[number],
                body=body,
                attributes={f"stepwatch.{name}": value for name, value in facts.items()},
            )
        )


def _is_wanted() -> bool:
    variables = environment()
    is_off = variables.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return not is_off and any(variables.get(_OTLP.format(one)) for one in _ENDPOINTS)


class Prometheus(Tracker):
    """A file for the textfile collector of Prometheus, replaced as a whole each time.

    Args:
        file: Where; its name must end in ``.prom``, for others are not collected.
    """

    by_default: ClassVar[bool] = False

    def __init__(self, file: str) -> None:
        if not file.endswith(".prom"):
            raise ConfigError(f"prometheus: file={file!r} must end in .prom to be collected")
        self._path = Path(file).absolute()  # the script may change its folder
        self._run = ""
        self._values: dict[str, float] = {}
        self._found: dict[str, int] = {}
        self._verdict = ""

    def open_run(self) -> Any:
        return self._path

    def begin(self, run: Any, url: str) -> None:
        self._run = url

    def finding(self, run: Any, finding: Finding, number: int) -> None:
        self._found[finding.rule] = self._found.get(finding.rule, 0) + 1
        self._write()

    def scalars(self, run: Any, step: int, values: Mapping[str, float]) -> None:
        self._values |= {**values, "step": step}
        self._write()

    def summary(self, run: Any, summary: RunSummary) -> None:
        self._verdict = summary.verdict
        self._values["findings"] = summary.findings
        self._write()

    def _write(self) -> None:
        lines = []
        for name, value in sorted(self._values.items()):
            lines += [*_about(name), self._sample(name, value)]
        if self._found:
            lines += _about("rule_findings")
            found = sorted(self._found.items())
            lines += [self._sample("rule_findings", count, rule=rule) for rule, count in found]
        if self._verdict:
            lines += _about("verdict")
            lines.append(self._sample("verdict", 1, verdict=self._verdict))
        aside = self._path.with_suffix(".aside")  # of a name that is not collected
        aside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        aside.replace(self._path)

    def _sample(self, name: str, value: float, **labels: str) -> str:
        pairs = {"run": self._run, **labels}.items()
        written = ",".join(f'{key}="{_escaped(text)}"' for key, text in pairs)
        number = "NaN" if math.isnan(value) else f"{value:g}" if math.isinf(value) else repr(value)
        return f"stepwatch_{name}{{{written}}} {number.replace('inf', 'Inf')}"


_HELP = {
    "findings": "How much the rules found in the training.",
    "gradient_norm": "L2 norm of all gradients of the last step in full.",
    "loss": "Loss of the last training step.",
    "rule_findings": "How much a rule found, without what only follows from others.",
    "step": "The last training step, counted from 0.",
    "steps_per_second": "Training steps a second, on average.",
    "verdict": "1 for the verdict that the label names.",
}


def _about(name: str) -> list[str]:
    """Return the lines that come before the samples of a gauge."""
    return [f"# HELP stepwatch_{name} {_HELP[name]}", f"# TYPE stepwatch_{name} gauge"]


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
