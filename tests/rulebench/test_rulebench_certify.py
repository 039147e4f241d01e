"""The part of RuleBench that certifies: faults that no rule sees, and healthy scripts."""

from __future__ import annotations

import pytest
from rulebench.certify.__main__ import Judged, certify, summary
from rulebench.certify.programs import (
    FAULTY,
    HEALTHY,
    PROGRAMS,
    WRITTEN,
    Certified,
    strangers,
)

from stepwatch.cli.certify import NAMES

OF = {program.name: program for program in PROGRAMS}


class TestPrograms:
    @pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
    def test_every_program_is_a_script_and_expects_relations_that_there_are(self, program):
        """A name that is mistyped would be a fault that can only be missed."""
        compile(program.text, program.name, "exec")

        assert program.breaks <= set(NAMES)

    def test_there_are_enough_faults_and_every_relation_but_one_has_its_own(self):
        """None was written yet that parts where it is compiled."""
        named = frozenset().union(*(program.breaks for program in FAULTY))

        assert len(FAULTY) >= 20
        assert len(OF) == len(FAULTY) + len(HEALTHY) + len(WRITTEN)
        assert len(WRITTEN) >= 20
        assert {"eager-compiled"} == set(NAMES) - named

    def test_healthy_programs_of_strangers_are_taken_from_batches(self):
        """Those that train with PyTorch, each so-manyth of a batch."""
        all_of_it = [one.name for one in strangers(["batch_2"])]

        assert "batch_2/p08_kfold_cancer" in all_of_it
        assert all_of_it[::3] == [one.name for one in strangers(["batch_2"], every=3)]


class TestSummary:
    def test_it_counts_outcomes_and_how_many_plain_runs_a_certificate_took(self):
        """What took more than may be is named."""
        faulty, healthy = Certified("f", "", frozenset({"resumed"})), Certified("h", "")
        judged = [
            Judged(faulty, {"resumed": "step 2"}, 3, 8, 30.0, 3.0, 1.0),
            Judged(faulty, {"seeds": "loss"}, 3, 8, 30.0, 3.0, 1.0),
            Judged(healthy, {}, 3, 8, 63.0, 3.0, 1.0),
        ]

        assert [
            "faulty: 1 of 2 named",
            "healthy: 1 of 1 cleared, 0 accused",
            "not judged: 1",
            "time: 2 of 3 within 20 x a plain run of the same steps; "
            "median 10.0 x, most 21.0 x (h)",
            "time without the start of Python: median 30.0 x",
        ] == summary(judged, 1)


@pytest.mark.slow
class TestOutcome:
    @pytest.mark.parametrize(
        ("relation", "faulty", "healthy"),
        [
            ("accumulation", "loss_not_divided", "accumulates"),
            ("resumed-data", "resumes_at_the_start_of_the_epoch", "resumes_within_an_epoch"),
            ("two-processes", "calls_the_module_of_replicas", "replicas_scale_the_rate"),
            ("two-processes", "schedule_of_each_process", "replicas_with_a_schedule"),
            ("two-processes", "adds_up_gradients", "averages_by_hand"),
        ],
    )
    def test_a_fault_is_named_and_its_healthy_twin_is_cleared(self, relation, faulty, healthy):
        """A script of replicas is run as one process of a launcher, and as two."""
        for name, expected in ((faulty, "named"), (healthy, "cleared")):
            program = OF[name]
            found = certify(program, steps=8, only=[relation])

            assert expected == found.outcome, found.broken
