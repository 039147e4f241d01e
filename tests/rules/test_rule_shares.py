"""A run that several judge at once: what shares say together is what one watch says."""

from __future__ import annotations

import pickle

import pytest

from stepwatch.judge.evaluate import evaluate_partition, merge_partitions
from stepwatch.model.finding import Finding
from stepwatch.rules import Rule, StepView, Watch
from tests.support.rules.made_runs import MadeRun


class Often(Rule):
    """Finds something at every third step, two things at once, and one at the end."""

    name = "often"

    def __init__(self, every: int = 3) -> None:
        self.every = every

    def check(self, step):
        if step.number % self.every == 0:
            yield Finding(self.name, step.number, "layer0.weight", "one", condition="one")
            yield Finding(self.name, step.number, "layer1.weight", "two", condition="two")

    def finish(self):
        yield Finding(self.name, 0, "", "in the end")


class Breaks(Rule):
    """Ends by an error at the fifth step."""

    name = "breaks"

    def check(self, step):
        if step.number == 5:
            raise RuntimeError("no more")
        return iter(())


def rules():
    """Return rules of all kinds: some speak at the same step, one fails, one is asked twice."""
    return [Often(), "exploding_tensor", Breaks(), Often(2), "loss_spike; overfit", Often(7)]


def steps():
    return [StepView([record]) for record in MadeRun(layers=2, steps=60).records()]


class TestShares:
    @pytest.mark.parametrize("of", [1, 2, 3, 5, 20])
    def test_together_they_say_what_one_watch_says(self, of):
        """Findings in the same order, statuses, and where tensors stand, however many share."""
        watch = Watch(rules())
        found = [finding for step in steps() for finding in watch.evaluate(step)] + watch.finish()
        shares = [evaluate_partition(steps(), rules(), share, of) for share in range(of)]
        findings, statuses, places = merge_partitions(shares)

        assert (found, watch.statuses()) == (findings, statuses)
        assert {"often", "often-2", "often-3"} == {finding.rule for finding in findings}
        assert "Error" in {status.status for status in statuses}
        assert "weights" in places.collections

    def test_they_need_not_come_in_order(self):
        """Who is done first is first."""
        shares = [evaluate_partition(steps(), rules(), share, 3) for share in range(3)]

        assert merge_partitions(shares)[:2] == merge_partitions(shares[::-1])[:2]

    def test_they_travel(self):
        """A share is the same in another process, and so are its places."""
        share = evaluate_partition(steps(), ["loss_spike"])
        arrived = pickle.loads(pickle.dumps(share))

        assert (share.findings, share.statuses) == (arrived.findings, arrived.statuses)
        assert [share.order.position(name) for name in ("layer0.weight", "layer1.weight")] == [
            arrived.order.position(name) for name in ("layer0.weight", "layer1.weight")
        ]

    def test_a_rule_keeps_its_name_in_a_share(self):
        """The second of two is ``often-2``, also where the first is in another share."""
        first, second = (
            evaluate_partition(steps(), [Often(), Often()], share, 2) for share in (0, 1)
        )

        assert [{"often"}, {"often-2"}] == [
            {finding.rule for *_, finding in share.findings} for share in (first, second)
        ]
