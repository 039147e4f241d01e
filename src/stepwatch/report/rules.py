"""Reports as rules, as SageMaker has them: they judge a run, and leave files behind.

Whoever lets such a rule judge calls ``write`` once the run has ended, with the folder of the
rule's output.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from ..errors import ConfigError, nearest
from ..judge.declaration import parameter
from ..judge.parameters import find_rule, parse_rules
from ..judge.rule import PROFILE_RULES, Findings, ProfileRule, Rule
from ..judge.step_view import StepView
from ..model.finding import Finding
from ..profile.windows import ProfileWindow
from ..trial import Trial
from . import profiler, xgboost
from .document import Report, Section, plain
from .page import report_notebook, report_page
from .profiler import evaluate_profile
from .xgboost_metrics import BoostedRun

# Of SageMaker, a switch against telemetry. There is none.
_WITHOUT_MEANING = "opt_out_telemetry"


class ProfilerReport(ProfileRule):
    """All rules on the profile, with SageMaker's conditions, and a report of what they say."""

    name = "profiler_report"
    sign = "other"
    evidence_noun = "readings and steps"
    #: It goes on after its first finding, for it is many rules.
    compat: ClassVar[Mapping[str, object]] = {"on_fire": "continue"}

    rule_parameters: Sequence[str] = parameter(
        (),
        "Parameters of these rules, each as `Rule_parameter=value`, such as"
        " `CPUBottleneck_threshold=30`.",
    )

    def begin(self) -> None:
        self._specs = _specs(self.rule_parameters, self.scan_interval_us)
        requested = [watched.rule for watched in parse_rules(self._specs)]
        self._rules = [rule for rule in requested if isinstance(rule, ProfileRule)]

    @classmethod
    def gathered(cls, parameters: Mapping[str, object]) -> dict[str, object]:
        """Return SageMaker's parameters, ``<Rule>_<parameter>`` each, as those of this rule."""
        known = {name.replace("_", "") for name in PROFILE_RULES}
        of_rules = [name for name in parameters if name.partition("_")[0].lower() in known]
        texts = [f"{name}={parameters[name]}" for name in of_rules]
        rest = {
            name: value
            for name, value in parameters.items()
            if name not in (*of_rules, _WITHOUT_MEANING)
        }
        return {**rest, "rule_parameters": texts} if texts else rest

    def scan(self, window: ProfileWindow) -> Findings:
        """Let every rule look at a window."""
        for rule in self._rules:
            for finding in rule.scan(window):
                about = f"{rule.name} {finding.condition or finding.tensor}"
                yield replace(finding, message=f"{rule.name}: {finding.message}", condition=about)

    @property
    def datapoints(self) -> int:
        return max(rule.datapoints for rule in self._rules)

    def write(self, trial: Trial, folder: Path) -> None:
        """Write the report and the numbers of each rule, where SageMaker has them."""
        verdict = evaluate_profile(trial, self._specs)
        output = folder / "profiler-output"
        numbers = output / "profiler-reports"
        numbers.mkdir(parents=True, exist_ok=True)
        _write(output / "profiler-report", profiler.of(trial, verdict))
        for name, facts in verdict.facts.items():
            path = numbers / f"{find_rule(name).__name__}.json"
            path.write_text(json.dumps(plain(facts.to_dict()), indent=1), encoding="utf-8")


class CreateXgboostReport(Rule):
    """No judgement: a report on a training of boosted trees, when it has ended."""

    name = "create_xgboost_report"
    needs = ("hyperparameters", "feature_importance", "labels", "predictions", "boosting")
    evidence = ("labels:raw:every=5", "predictions:raw:every=5", "average_shap:raw:every=5")
    compat: ClassVar[Mapping[str, object]] = {"on_fire": "continue"}

    def check(self, step: StepView) -> Iterable[Finding]:  # noqa: ARG002
        return ()

    def write(self, trial: Trial, folder: Path) -> None:
        """Write the report and the numbers of each section, where SageMaker has them."""
        made = xgboost.report(trial)
        numbers = folder / "xgboost-reports"
        numbers.mkdir(parents=True, exist_ok=True)
        _write(folder / "xgboost_report", made)
        # A file of residuals is there for classes, too, of which the page has no chart.
        residuals = xgboost.residual_section(BoostedRun(trial))
        for section in {one.key: one for one in (residuals, *made.sections)}.values():
            if _is_of_sagemaker(section):
                path = numbers / f"{section.key}.json"
                path.write_text(json.dumps(plain(section), indent=1), encoding="utf-8")


def _write(path: Path, made: Report) -> None:
    """Write a report as a page and as a notebook."""
    path.with_suffix(".html").write_text(report_page(made), encoding="utf-8")
    path.with_suffix(".ipynb").write_text(report_notebook(made), encoding="utf-8")


def _is_of_sagemaker(section: Section) -> bool:
    """Return whether a section has a name that SageMaker gives a file."""
    return section.key[0].isupper()


def _specs(texts: Sequence[str], scan_interval_us: int) -> list[dict[str, object]]:
    """Return the specs of all rules, with the parameters that texts give them."""
    names = {name.replace("_", ""): name for name in PROFILE_RULES}
    given: dict[str, dict[str, object]] = {name: {} for name in PROFILE_RULES}
    for text in texts:
        name, equals, value = text.partition("=")
        rule, underscore, parameter = name.strip().partition("_")
        known = names.get(rule.lower())
        if not equals or not underscore or known is None:
            raise ConfigError(
                f"{text!r} must be Rule_parameter=value, with one of the rules"
                f" {', '.join(names.values())}{nearest(rule.lower(), names)}"
            )
        given[known][parameter.lower()] = value
    interval = {"scan_interval_us": scan_interval_us, "profile": "compat"}
    return [
        {"rule": name, "on_fire": "continue", **interval, **parameters}
        for name, parameters in given.items()
    ]
