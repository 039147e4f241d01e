"""The same findings, live and from its files, where a run is laid out as smdebug does."""

from __future__ import annotations

import pytest

from stepwatch import LiveWatch, TorchHook, Trial, Watch, watch
from tests.support.rules.scenarios import SCENARIOS, Scenario, first_of_each_rule

pytestmark = pytest.mark.usefixtures("one_thread")


def _name(value):
    if isinstance(value, Scenario):
        return f"{value.rule}-{_name(value.program)}"
    return f"{getattr(value, 'func', value).__name__}{getattr(value, 'keywords', '')}"


def where(findings):
    """Return what each finding is about; counts of elements are not in the files."""
    return [(f.rule, f.step, f.mode_step, f.mode, f.tensor, f.worker) for f in findings]


# Which parameters are trainable, and which of them an optimizer holds, is in no file of smdebug's.
HELD = [one for one in SCENARIOS if one.must_fire and one.rule != "untrained_parameter"]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", first_of_each_rule(HELD), ids=_name)
def test_a_rule_finds_the_same_in_the_files(scenario, tmp_path):
    """The same rule at the same steps about the same tensors, and the same status."""
    live = LiveWatch(scenario.rule)
    with TorchHook(
        run=tmp_path, format="smdebug", listeners=[live], say=lambda line: None, strict=True
    ):
        scenario.program()
    engine = Watch(scenario.rule)
    found = list(watch(Trial(tmp_path), engine))

    assert where(live.findings) == where(found)
    assert [s.status for s in live.statuses()] == [s.status for s in engine.statuses()]
