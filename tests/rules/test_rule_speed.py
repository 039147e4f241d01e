"""What rules cost, with bounds that only a rule that got much slower breaks."""

from __future__ import annotations

import time

from stepwatch import LiveWatch
from stepwatch.plugins import registry
from stepwatch.rules import DEFAULT_RULES, StepView, Watch
from tests.support.rules.made_runs import MadeRun

# What a rule must be told to be asked at all; the last reads other runs.
ASKED = {
    "all_zero": "all_zero:collection_names=outputs",
    "unchanged_tensor": "unchanged_tensor:collection_names=weights",
    "tensor_variance": "tensor_variance:collection_names=weights,max_threshold=100",
    "similar_across_runs": "",
}
RULES = [ASKED.get(name, name) for name in registry.names("stepwatch.rules")]
RECORDS = list(MadeRun(layers=40, steps=120).records())


def test_all_rules_together_are_fast_in_replay():
    """On one core; a tenth of the bound would do."""
    watch = Watch([rule for rule in RULES if rule])
    began = time.process_time()
    for record in RECORDS:
        watch.evaluate(StepView([record]))
    watch.finish()

    assert time.process_time() - began < 3
    assert [] == [status for status in watch.statuses() if status.status == "Error"]


def test_the_default_set_takes_little_of_a_step():
    """Less than a millisecond; a step of a model of this size takes a hundred and more."""
    watch = LiveWatch(DEFAULT_RULES)
    watch.on_step(RECORDS[0])
    began = time.process_time()
    for record in RECORDS[1:]:
        watch.on_step(record)

    assert (time.process_time() - began) / len(RECORDS) < 0.01
