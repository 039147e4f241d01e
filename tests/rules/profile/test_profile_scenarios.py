"""Every profile in which a rule must, or must not, find something; live as in replay."""

from __future__ import annotations

import pytest

from tests.support.rules.profile.made_profiles import judged
from tests.support.rules.profile.profile_scenarios import SCENARIOS


def _name(scenario):
    settings = getattr(scenario.profile, "func", scenario.profile).__name__
    arguments = getattr(scenario.profile, "args", ())
    plain = [one for one in arguments if isinstance(one, (int, float, str))]
    return f"{scenario.rule}-{settings}{plain or ''}-{scenario.status}"


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=_name)
def test_a_rule_speaks_up_when_it_must_and_only_then(scenario):
    """What is wrong gives a finding; what is not, or cannot be told, gives none and says so."""
    found, status = judged(scenario.rule, scenario.profile())

    assert scenario.status == status.status, status.details
    assert (scenario.status == "IssuesFound") == bool(found)
