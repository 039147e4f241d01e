"""The report on boosted trees: how good the model is, on what it relies, and where it errs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..rules.judged import Shown, in_silence, judged
from ..rules.parameters import Spec
from ..trial import Trial
from .document import Block, Report, Section, Table
from .read_once import read_once
from .run import cause_sections, of_sections
from .xgboost_classes import class_sections
from .xgboost_evidence import Evidence, is_boosted
from .xgboost_sections import absent, errors_by_label, importance, labels, losses, residuals

#: What is asked of a run that no rule has judged: rules that suit boosted trees.
RULES = (
    "overfit:patience=3,ratio_threshold=0.2,rising_by=0.1",
    "overtraining",
    "loss_not_decreasing:mode=TRAIN,num_steps=100,smooth=25,converged_ratio=0.9",
    "feature_importance_overweight",
    "class_imbalance",
)


def suits(trial: Trial) -> bool:
    """Return whether it is a run of boosted trees."""
    return is_boosted(trial)


def report(
    trial: Trial, rules: Sequence[Spec] | None = None, *, shown: Shown = in_silence
) -> Report:
    """Return what is known of a training of boosted trees.

    Args:
        trial: The run.
        rules: Judge it anew, by these.
        shown: Shows how far judging is.
    """
    judgement = judged(trial, rules, default=RULES, shown=shown)
    evidence = Evidence(trial)
    sections = [
        *cause_sections(trial, read_once(trial), judgement),
        Section("LabelsDistribution", "Distribution of the true labels", (*labels(evidence),)),
        Section("LossData", "Loss over the steps", (*losses(evidence, judgement),)),
        Section("FeatureImportance", "Feature importance", (*importance(evidence),)),
        *class_sections(evidence),
        Section(
            "ResidualDistribution", "Residuals at the last saved step", (*residuals(evidence),)
        ),
        *errors_by_label(evidence),
        Section("hyperparameters", "Hyperparameters", (*_hyperparameters(evidence),)),
    ]
    objective = {"objective": evidence.objective or "not known"}
    return of_sections("xgboost", trial, judgement, sections, objective)


def _hyperparameters(evidence: Evidence) -> Iterator[Block]:
    rows = tuple(sorted(evidence.hyperparameters.items()))
    yield Table(("name", "value"), rows) if rows else absent("hyperparameters")
