"""The profiler report tells what a made profile holds, section by section."""

from __future__ import annotations

import gzip
import json

import pytest

from stepwatch.report import report, suits
from stepwatch.report.document import Chart, Table, Text
from stepwatch.testing import make_run
from stepwatch.trial import Trial
from tests.support.report.profiled_runs import profiled_run

SLOW = frozenset(range(100, 120))


def sections(made):
    return {section.key: section for section in made.sections}


def tables(section):
    return [block for block in section.blocks if isinstance(block, Table)]


def charts(section, draws=""):
    found = [block for block in section.blocks if isinstance(block, Chart)]
    return [chart for chart in found if draws in ("", chart.draw.__name__)]


def texts(section):
    return " ".join(block.text for block in section.blocks if isinstance(block, Text))


@pytest.fixture(scope="module")
def profiled():
    """200 steps of 0.1 s, 20 of them ten times that, on two GPUs, of which one is idle."""
    trial = profiled_run(
        "memory://profiled", slow=SLOW, gpus=(("gpu0", 85.0), ("gpu1", 2.0)), core=97.0
    )
    return sections(report(trial, "profiler"))


class TestSections:
    def test_all_of_them_in_their_order(self, profiled):
        """As SageMaker's report has them; operators only where a window was traced."""
        assert [
            "summary",
            "system",
            "framework",
            "rules",
            "loop",
            "step-durations",
            "gpu-utilization",
            "balance",
            "loading",
            "batch-size",
            "cpu-bottlenecks",
            "io-bottlenecks",
            "gpu-memory",
        ] == [*profiled]

    def test_the_parts_of_the_job_sum_to_it(self, profiled):
        """38 s of steps, and a second after the last one ended."""
        (chart,) = charts(profiled["summary"], "shares")
        parts = chart.data["parts"]

        assert 38.0 == pytest.approx(parts["training loop"])
        assert 1.0 == pytest.approx(parts["finalization"])

    def test_usage_of_each_device(self, profiled):
        """The median of the mean over both GPUs; bytes each way; I/O wait."""
        (table,) = tables(profiled["system"])
        rows = {row[1]: row for row in table.rows}

        assert 43.5 == pytest.approx(rows["GPU"][6], abs=1.5)
        assert (1000.0, 500.0) == (rows["network received"][6], rows["network sent"][6])
        assert 1.0 == rows["I/O wait"][6]
        assert "is held up by its CPUs" in texts(profiled["system"])

    def test_time_by_mode_and_phase(self, profiled):
        """A tenth of the steps is EVAL; backward takes five eighths of forward and backward."""
        shown = {
            chart.data["title"]: chart.data["parts"] for chart in charts(profiled["framework"])
        }

        both = shown["Forward and backward"]
        assert 5 / 8 == pytest.approx(both["backward"] / sum(both.values()))
        phases = shown["All phases"]
        assert 0.1 == pytest.approx(phases["data"] / sum(phases.values()))
        assert 3.8 == pytest.approx(shown["Steps by mode"]["EVAL"])

    def test_slow_steps_are_counted_and_left_out_of_the_histogram(self, profiled):
        """18 of the 20 are TRAIN steps; checkpoints ran then."""
        durations, slow = tables(profiled["step-durations"])

        assert ("TRAIN", 180) == durations.rows[0][1:3]
        assert 18 == slow.rows[0][2]
        histograms = charts(profiled["step-durations"], "histogram")
        assert 162 == sum(histograms[0].data["counts"]["worker_0"])
        rings = {
            chart.data["title"]: chart for chart in charts(profiled["step-durations"], "shares")
        }
        assert "checkpoint" in rings["What else ran during slow steps"].data["parts"]

    def test_each_gpu_has_a_row_and_a_box(self, profiled):
        """Quartiles of what was read, whiskers within 1.5 times their distance."""
        (table,) = tables(profiled["gpu-utilization"])
        (chart,) = charts(profiled["gpu-utilization"])

        assert ["gpu0", "gpu1"] == [row[1] for row in table.rows]
        low, first, middle, third, high = chart.data["values"]["gpu0"]
        assert low <= first <= middle <= third <= high
        assert 85 == pytest.approx(middle, abs=1)

    def test_gpus_that_differ_are_told(self, profiled):
        """They have nothing in common."""
        (table,) = tables(profiled["balance"])

        assert [("node-1", "gpu0", "gpu1", 0.83)] == [*table.rows]

    def test_load_times_have_their_percentiles(self, profiled):
        """Two processes, of which one loads in most seconds; each batch takes 30 ms."""
        (table,) = tables(profiled["loading"])
        (chart,) = charts(profiled["loading"])

        assert ("worker_0", 2, 1, 2) == table.rows[0]
        assert 30.0 == chart.data["lines"]["p50"]
        assert 200 == sum(chart.data["counts"]["batches"])

    def test_moments_at_which_a_core_holds_up_a_gpu(self, profiled):
        """One GPU always waits, and a core is busy then."""
        moments = charts(profiled["cpu-bottlenecks"])[0].data["parts"]

        assert 0 == moments["GPUs at work"]
        assert moments["a GPU waits: busy core"] > 70

    def test_every_rule_has_a_row(self, profiled):
        """Those that only describe are left out; parameters are those it judged with."""
        (table,) = tables(profiled["rules"])
        rules = {row[0]: row for row in table.rows}

        assert 9 == len(rules)
        assert "patience=1000" in rules["low_gpu_utilization"][5]


class TestOthers:
    def test_without_gpus(self):
        """A machine without any is told of as well."""
        trial = profiled_run("memory://cpu", gpus=(), iowait=80.0)
        found = sections(report(trial, "profiler"))

        assert "no GPU that was read" in texts(found["system"])
        assert "No GPU was read." in texts(found["gpu-utilization"])
        assert "I/O wait was seen at 100%" in texts(found["io-bottlenecks"])

    def test_what_rules_find_stands_in_its_section(self):
        """With rules that ask for less than a thousand readings."""
        trial = profiled_run("memory://low", gpus=(("gpu0", 30.0),))
        made = report(trial, "profiler", ["low_gpu_utilization:patience=10,window=20"])

        (cause,) = [
            one for one in sections(made)["gpu-utilization"].blocks if hasattr(one, "finding")
        ]
        assert "low_gpu_utilization" == cause.finding.rule
        assert cause.finding.message == made.lines[0]

    def test_operators_of_traced_windows(self):
        """What took less than 2 % is left out; a damaged trace counts for nothing."""
        trial = profiled_run("memory://traced", steps=20)
        costs = {"aten::mm": 80, "aten::add": 19, "aten::copy_": 1}
        events = [{"ph": "X", "cat": "cpu_op", "name": n, "dur": d} for n, d in costs.items()]
        trace = gzip.compress(json.dumps({"traceEvents": events}).encode())
        trial.store.put("profile/traces/steps_000000000005-000000000007/rank0.json.gz", trace)
        trial.store.put("profile/traces/steps_000000000008-000000000009/rank0.json.gz", trace[:40])

        found = sections(report(trial, "profiler"))

        (table,) = tables(found["cpu-operators"])
        assert ["aten::mm", "aten::add"] == [row[2] for row in table.rows]
        assert "gpu-operators" not in found

    @pytest.mark.slow
    def test_many_machines_are_listed_and_few_drawn(self):
        """64 machines have a row each; the page stays small."""
        nodes = [f"node-{number}" for number in range(64)]
        trial = profiled_run("memory://many", steps=20, nodes=nodes)

        found = sections(report(trial, "profiler", ["max_initialization_time"]))

        assert 128 == len(tables(found["gpu-utilization"])[0].rows)
        assert 4 == len(charts(found["gpu-utilization"]))

    def test_only_a_profile(self):
        """A run without a step that was captured has this report."""
        trial = profiled_run("memory://only", tensors=False)

        assert "profiler" == suits(trial)
        assert "training loop start" in [
            row[0] for row in tables(sections(report(trial))["summary"])[0].rows
        ]

    def test_nothing_was_profiled(self):
        """Asked for all the same, it says what is not known."""
        found = sections(report(Trial(make_run("memory://none", steps=3)), "profiler"))

        assert "No step was timed" in texts(found["framework"])
        assert "No device was read" in texts(found["system"])
