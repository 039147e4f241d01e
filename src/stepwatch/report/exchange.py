"""Verdicts in the formats of other tools: JUnit, SARIF, GitHub's commands, Markdown.

A finding points to the place in the script where its loss, optimizer or layer was made, as far as
the hook noted it, and else to the script.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from .. import __version__
from ..judge.evidence_view import by_findings
from ..judge.rule_runner import RuleStatus
from ..judge.verdict import INCONCLUSIVE, Verdict, episodes, not_evaluated, plural
from ..model.collection import spec_of, subject
from ..model.finding import Finding
from ..plots.downsample import envelope
from ..runtime.terminal import visible
from ..trial import Trial

#: By the severity of a finding: what SARIF and GitHub call it.
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
#: Collections that an optimizer brings along, and rules on what it was given.
_OF_OPTIMIZER = ("learning_rates", "optimizer", "optimizer_states", "updates")
_OPTIMIZER_RULES = ("untrained_parameter", "step_size", "stale_gradients", "learning_rate_anomaly")
#: Collections that are named after the loss that they are about.
_OF_LOSS = ("labels", "predictions", "classes", "supervision", "log_partition")
_MARKS = {"error": "❌", "warning": "⚠️", "good": "✅"}
_MOST_FINDINGS, _MOST_POINTS = 20, 60
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Place(NamedTuple):
    """A line of a file.

    Fields:
        file: Relative to where this runs, if it lies below; ``""`` where nothing is known.
        line: From 1.
    """

    file: str
    line: int


@dataclass(frozen=True)
class Judged:
    """A run, the verdict on it, and where in its script things are.

    Args:
        trial: The run.
        verdict: On it.
        folder: Paths are relative to it, if what they name lies there.
    """

    trial: Trial
    verdict: Verdict
    folder: Path

    def place(self, finding: Finding) -> Place:
        """Return where in the script to look for what a finding is about."""
        ends = self.trial.reader.ends().values()
        sources = next((end.sources for end in ends if end.sources), {})
        found = _source(finding, sources)
        file, _, line = found.rpartition(":")
        if not file or not line.isdecimal():
            file, line = self._script(), "1"
        return Place(self._relative(file), max(1, int(line)))

    def _script(self) -> str:
        manifest = self.trial.reader.manifest
        if not manifest.command:
            return ""
        path = Path(manifest.folder, manifest.command[0])
        return str(path) if path.suffix == ".py" else ""

    def _relative(self, file: str) -> str:
        path = Path(file)
        try:
            return path.relative_to(self.folder).as_posix()
        except ValueError:
            return path.as_posix() if file else ""


def judged(trials: Sequence[Trial], verdicts: Sequence[Verdict]) -> list[Judged]:
    """Return runs with their verdicts, seen from the working directory."""
    here = Path(os.path.abspath("."))
    return [Judged(*one, here) for one in zip(trials, verdicts, strict=True)]


def _source(finding: Finding, sources: Mapping[str, str]) -> str:
    """Return the place that was noted for what a finding is about; ``""`` for none."""
    tensor = finding.tensor
    spec = spec_of(tensor)
    collection = spec.name if spec else ""
    optimizer = sources.get("optimizer", "")
    if tensor in sources:
        return sources[tensor]
    if optimizer and (finding.rule in _OPTIMIZER_RULES or collection in _OF_OPTIMIZER):
        return optimizer
    if collection in _OF_LOSS:
        name = tensor.partition("/")[2].partition("/")[0]
        return sources.get(f"loss/{name}", "")
    part = subject(tensor)
    while part:
        if place := sources.get(f"module/{part}"):
            return place
        part = part.rpartition(".")[0]
    # what is data, or of the whole model, is looked for where the training step stands
    return next((place for name, place in sources.items() if name.startswith("loss/")), optimizer)


def junit(runs: Sequence[Judged]) -> str:
    """Return JUnit's XML: a suite for each run, a test case for each rule and one for its end.

    What a rule found is a failure, and a rule that lacked data was skipped.
    """
    root = Element("testsuites", name="stepwatch")
    for one in runs:
        _add_suite(root, one)
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _add_suite(root: Element, one: Judged) -> None:
    statuses = one.verdict.statuses
    by_rule: dict[str, list[Finding]] = {status.rule: [] for status in statuses}
    for finding in one.verdict.findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    head = one.verdict.headline
    has_failed = head.outcome == "failed"
    counts = {
        "tests": len(by_rule) + 1,
        "failures": sum(map(bool, by_rule.values())),
        "errors": sum(status.status == "Error" for status in statuses) + has_failed,
        "skipped": sum(_is_skipped(status.status, by_rule[status.rule]) for status in statuses),
    }
    texts = {name: str(count) for name, count in counts.items()}
    texts["name"] = _xml_text(one.verdict.run)
    suite = SubElement(root, "testsuite", texts)
    ended = SubElement(suite, "testcase", classname="stepwatch", name="run")
    if has_failed:
        error = SubElement(ended, "error", message=_xml_text(head.text))
        error.text = _xml_text("\n".join((head.text, *head.details, *head.commands)))
    details = {status.rule: (status.status, status.details) for status in statuses}
    for rule, findings in by_rule.items():
        status, why = details.get(rule, ("IssuesFound", ""))
        case = SubElement(suite, "testcase", classname="stepwatch", name=rule)
        if findings:
            place = one.place(findings[0])
            if place.file:
                case.set("file", _xml_text(place.file))
                case.set("line", str(place.line))
            failure = SubElement(case, "failure", type=findings[0].severity)
            failure.set("message", _xml_text(findings[0].headline()))
            failure.text = _xml_text("\n".join(_lines(one, findings)))
        elif status == "Error":
            SubElement(case, "error", message=_xml_text(why))
        elif _is_skipped(status, findings):
            SubElement(case, "skipped", message=_xml_text(why))


def _is_skipped(status: str, findings: Sequence[Finding]) -> bool:
    return not findings and status in INCONCLUSIVE and status != "Error"


def _xml_text(text: str) -> str:
    return _NOT_XML.sub("�", visible(text))


def _lines(one: Judged, findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings[:_MOST_FINDINGS]:
        file, line = one.place(finding)
        # in one line: a line of its own may be a command to who prints it
        yield " ".join(finding.headline().split()) + (f" ({file}:{line})" if file else "")
        if finding.remedy:
            yield f"    {' '.join(finding.remedy.split())}"
    if len(findings) > _MOST_FINDINGS:
        yield f"and {len(findings) - _MOST_FINDINGS} more"


def sarif(runs: Sequence[Judged]) -> str:
    """Return SARIF 2.1.0: a run of the tool for each run, a result for each finding.

    How a run failed, and rules that lacked data, are notifications.
    """
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [_sarif_run(one) for one in runs],
    }
    return json.dumps(log, indent=1)


def _sarif_run(one: Judged) -> dict[str, object]:
    rules = [status.rule for status in one.verdict.statuses]
    rules += [found.rule for found in one.verdict.findings if found.rule not in rules]
    names = list(dict.fromkeys(rules))
    open_ = [status for status in one.verdict.statuses if status.status in INCONCLUSIVE]
    head = one.verdict.headline
    failed: list[dict[str, object]] = [{"level": "error", "message": {"text": head.text}}]
    notes: list[dict[str, object]] = [
        *(failed if head.outcome == "failed" else []),
        *map(_sarif_note, open_),
    ]
    return {
        "tool": {
            "driver": {
                "name": "Stepwatch",
                "semanticVersion": __version__,
                "rules": [{"id": name} for name in names],
            }
        },
        "automationDetails": {"id": f"stepwatch/{one.verdict.run}"},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
        "results": [_sarif_result(one, found, names) for found in one.verdict.findings],
        "properties": {
            "headline": head.line,
            "verdict": head.outcome,
        },
    }


def _sarif_note(status: RuleStatus) -> dict[str, object]:
    return {
        "level": "error" if status.status == "Error" else "note",
        "message": {"text": f"{status.rule} ({status.status}): {status.details}"},
        "associatedRule": {"id": status.rule},
    }


def _sarif_result(one: Judged, finding: Finding, names: Sequence[str]) -> dict[str, object]:
    file, line = one.place(finding)
    place = {"artifactLocation": {"uri": file}, "region": {"startLine": line}}
    remedy = f"\n{finding.remedy}" if finding.remedy else ""
    numbers = {"value": finding.value, "threshold": finding.threshold}
    known = {name: x for name, x in numbers.items() if x is not None and math.isfinite(x)}
    return {
        "ruleId": finding.rule,
        "ruleIndex": names.index(finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.where()}: {finding.message}{remedy}"},
        "locations": [{"physicalLocation": place}] if file else [],
        "partialFingerprints": {"finding/v1": finding.finding_id},
        "properties": {"step": finding.step, "tensor": finding.tensor, **known},
    }


def github(runs: Sequence[Judged]) -> str:
    """Return workflow commands of GitHub: an annotation for each cause, and the verdict."""
    lines = []
    for one in runs:
        for episode in episodes(one.verdict.chains)[:_MOST_FINDINGS]:
            found = episode.chain.head
            file, line = one.place(found)
            where = [f"file={_property(file)}", f"line={line}"] if file else []
            fields = [*where, f"title={_property(f'{found.rule} at step {found.step}')}"]
            remedy = f"\n{found.remedy}" if found.remedy else ""
            text = f"{found.where()}: {found.message}{remedy}"
            lines.append(f"::{_COMMANDS[found.severity]} {','.join(fields)}::{_escaped(text)}")
        head = one.verdict.headline
        command = "error" if head.outcome == "failed" else "notice"
        lines.append(f"::{command} title=stepwatch::{_escaped(f'{one.verdict.run}: {head.line}')}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Return the data of a command, as the toolkit of GitHub's actions escapes it."""
    return visible(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def markdown(runs: Sequence[Judged]) -> str:
    """Return Markdown as GitHub and GitLab show it: verdict, causes, and a curve of the loss."""
    return "\n".join(line for one in runs for line in _markdown_lines(one)).rstrip() + "\n"


def _markdown_lines(one: Judged) -> Iterator[str]:
    verdict = one.verdict
    mark = _MARKS.get(verdict.headline.tone, "❔")
    yield from (
        f"### {mark} `{_code(verdict.run)}`",
        "",
        f"**{_cell(verdict.headline.title)}**",
        "",
    )
    causes = episodes(verdict.chains)
    if causes:
        yield from ("| | Rule | Where | What | Place |", "|---|---|---|---|---|")
    for episode in causes[:_MOST_FINDINGS]:
        found = episode.chain.head
        file, line = one.place(found)
        what = _cell(found.message) + (f"<br>*{_cell(found.remedy)}*" if found.remedy else "")
        place = f"`{_code(file)}:{line}`" if file else ""
        row = (found.severity, f"`{_code(found.rule)}`", found.where(), what, place)
        yield f"| {' | '.join(row)} |"
    if len(causes) > _MOST_FINDINGS:
        yield f"\nand {plural(len(causes) - _MOST_FINDINGS, 'more cause')}"
    yield ""
    yield from _curve(one.trial, verdict)
    if open_ := not_evaluated(verdict.statuses):
        yield from ("<details><summary>What lacked data</summary>", "")
        yield from (f"- {_cell(line)}" for line in open_)
        yield from ("", "</details>", "")


def _curve(trial: Trial, verdict: Verdict) -> Iterator[str]:
    """Yield a chart of the loss in question, which Markdown's readers draw with Mermaid."""
    losses = trial.tensor_names(collection="losses")
    names = by_findings(losses, verdict.marked, trial.reader.tensors())
    if not names:
        return
    series = trial.tensor(names[0]).statistics(trial.modes[0])
    points = envelope(series.steps, series["mean"], points=_MOST_POINTS)
    means = zip(points.first.tolist(), points.mean.tolist(), strict=True)
    known = [(step, mean) for step, mean in means if math.isfinite(mean)]
    if len(known) < 2:
        return
    values = ", ".join(f"{value:.6g}" for _, value in known)
    name = re.sub(r"[^\w/. -]", "_", names[0])
    yield from ("```mermaid", "xychart-beta", f'  title "{name}"')
    yield f'  x-axis "step" {known[0][0]} --> {known[-1][0]}'
    yield from ('  y-axis "mean"', f"  line [{values}]", "```", "")


def _cell(text: str) -> str:
    """Return text that does nothing in a cell of a table but be read."""
    plain = " ".join(visible(text).split())
    return re.sub(r"([\\`*_{}\[\]<>#|~@])", r"\\\1", plain)


def _code(text: str) -> str:
    return " ".join(visible(text).split()).replace("`", "'").replace("|", "\\|")


#: By the name of a format.
FORMATS = {"junit": junit, "sarif": sarif, "github": github, "markdown": markdown}
