"""Rules judge whole tensors, wherever their parts lie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stepwatch.judge.live import LiveWatch
from stepwatch.model.record import Layout
from stepwatch.numerics.statistics import merge
from stepwatch.rules import StepView, Watch
from stepwatch.testing.made_runs import make_record


def parts_at(step, *parts):
    """Return a record of each worker, which holds these rows of a weight and of its gradient."""
    shape, first, records = (sum(map(len, parts)), parts[0].shape[1]), 0, []
    for rank, part in enumerate(parts):
        arrays = {"w": part, "gradient/w": part}
        record = make_record(step, arrays, worker=f"worker_{rank}")
        offset = (first, 0)
        layout = Layout(
            tuple(replace(one, shape=shape, offset=offset) for one in record.layout.tensors)
        )
        records.append(replace(record, layout=layout))
        first += len(part)
    return records


HALF, ZEROS = np.ones((2, 3)), np.zeros((3, 3))


def judged(steps):
    """Return the findings and the status of a rule that is shown these records."""
    watch = Watch("all_zero:collection_names=weights")
    findings = [found for records in steps for found in watch.evaluate(StepView(records))]
    findings += watch.finish()
    return findings, watch.statuses()[0]


class TestReplay:
    def test_a_part_of_zeros_is_no_tensor_of_zeros(self):
        """The rest of it is not zero."""
        findings, status = judged(parts_at(step, HALF, ZEROS) for step in range(5))

        assert ([], "NoIssuesFound") == (findings, status.status)

    def test_a_tensor_of_zeros_is_found_once(self):
        """Under its own name, not once for each part."""
        findings, _ = judged(parts_at(step, ZEROS, ZEROS) for step in range(5))

        assert ["w"] == [finding.tensor for finding in findings]

    def test_parts_seen_twice_are_no_whole_though_they_count_as_many(self):
        """Two of four parts of zeros, in two micro-batches; the other two are missing."""
        part = np.zeros((2, 3))
        records = parts_at(0, part, part, part, part)
        twice = [replace(one, statistics=merge(np.stack([one.statistics] * 2))) for one in records]

        assert [] == list(StepView(twice[:2]).tensors("weights"))
        assert [] == list(StepView(twice[1:3]).tensors("weights"))
        assert [48] == [one.statistics.count for one in StepView(twice).tensors("weights")]
        assert [] == list(StepView([*twice[:3], records[3]]).tensors("weights"))

    def test_a_step_lists_a_tensor_once(self):
        """In the record of the first worker."""
        view = StepView(parts_at(0, HALF, ZEROS))

        assert [("w", "worker_0", 15)] == [
            (one.name, one.worker, one.statistics.count) for one in view.tensors("weights")
        ]


class TestLive:
    def test_parts_are_not_judged_and_the_status_says_so(self):
        """A process sees its own part only."""
        watch = LiveWatch("all_zero:collection_names=weights")
        for step in range(5):
            watch.on_step(parts_at(step, ZEROS, HALF)[0])
        watch.finish()
        (status,) = watch.statuses()

        assert ([], "NotEvaluated") == (watch.findings, status.status)
        assert "not judged: gradients and weights of which other workers" in status.details
