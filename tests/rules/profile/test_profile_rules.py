"""What profile rules have in common: the same findings everywhere, and reasons for none."""

from __future__ import annotations

import json
from itertools import count

import numpy as np
import pytest

from stepwatch import Watch
from stepwatch.errors import ConfigError
from stepwatch.formats.profile.parts import PartsWriter
from stepwatch.formats.profile.tables import SPANS, SYSTEM, Span
from stepwatch.judge.rule import PROFILE_RULES
from stepwatch.profile.statistics import QuantileSketch
from stepwatch.rules import parse_rules
from stepwatch.rules.compat import compat_name, compat_rule
from stepwatch.store import open_store
from stepwatch.trial.profile import Profile
from tests.support.rules.profile.made_profiles import (
    SECOND,
    START,
    TICK,
    cores,
    judged,
    made_profile,
    noisy,
    samples,
    steps,
)
from tests.support.rules.profile.profile_scenarios import SCENARIOS, alternating, full

#: What SageMaker calls them.
THEIRS = ("BatchSize", "CPUBottleneck", "Dataloader", "GPUMemoryIncrease", "IOBottleneck",
          "LoadBalancing", "LowGPUUtilization", "MaxInitializationTime", "OverallFrameworkMetrics",
          "OverallSystemUsage", "StepOutlier")  # fmt: skip
FIRING = [one for one in SCENARIOS if one.status == "IssuesFound"]
#: So much of a profile is written at once.
PIECE = 30 * SECOND
_places = count()


def as_it_goes_on(profile, spec):
    """Return what is found while the rows of a profile appear, half a minute at a time."""
    system, spans = profile.system(), profile.spans()
    times = system.column("time_ns").to_numpy()
    ends = spans.column("start_ns").to_numpy() + spans.column("duration_ns").to_numpy()
    store = open_store(f"memory://as-it-goes-on-{next(_places)}")
    machines = {node: PartsWriter(store, SYSTEM, node) for node in {*column(system, "node")}}
    workers = {worker: PartsWriter(store, SPANS, worker) for worker in {*column(spans, "worker")}}
    watch, found = Watch(spec), []
    last = max([*times.tolist(), *ends.tolist()])
    for now in range(START, last + 1, PIECE):
        for rows, when, of, writers in (
            (system, times, "node", machines),
            (spans, ends, "worker", workers),
        ):
            new = rows.take(np.flatnonzero((when >= now) & (when < now + PIECE)))
            for who, writer in writers.items():
                writer.write(new.take(np.flatnonzero(np.array(column(new, of)) == who)))
        found += watch.scan(Profile(store), ended=False)
    found += watch.scan(Profile(store), ended=True) + watch.finish()
    return found, watch.statuses()[0]


def column(table, name):
    return table.column(name).to_pylist()


class TestLive:
    @pytest.mark.parametrize("scenario", FIRING[4::5], ids=lambda one: one.rule)
    def test_findings_are_the_same_while_the_run_goes_on(self, scenario):
        """To the last byte, in whatever pieces the profile comes."""
        profile = scenario.profile()
        live, replayed = as_it_goes_on(profile, scenario.rule), judged(scenario.rule, profile)

        assert [one.to_json() for one in replayed[0]] == [one.to_json() for one in live[0]]
        assert replayed[1] == live[1]

    def test_rules_are_told_what_is_new_when_the_clock_ticks(self):
        """Once in a few seconds: to look costs requests."""
        profile = made_profile(samples("gpu0", full(5)))
        watch = Watch("low_gpu_utilization")

        first = watch.tick(10 * SECOND, profile=profile)
        assert ["low_gpu_utilization"] == [one.rule for one in first]
        assert [] == watch.tick(11 * SECOND, profile=profile)


class TestEvidence:
    @pytest.mark.parametrize("name", PROFILE_RULES)
    def test_without_a_profile_no_rule_judges(self, name):
        """And it says how to have one."""
        found, status = judged(name, made_profile())

        assert ([], "NotEvaluated", False) == (found, status.status, status.idle)
        assert "stepwatch run --profile" in status.details

    @pytest.mark.parametrize("name", ["batch_size", "low_gpu_utilization", "load_balancing"])
    def test_where_there_is_no_gpu_there_is_nothing_to_judge(self, name):
        """A machine without GPUs has no fault."""
        _, status = judged(name, made_profile(cores(full(50)), steps(np.full(100, 6.0))))

        assert ("NotEvaluated", True) == (status.status, status.idle)

    def test_readings_in_evaluation_and_checkpoints_do_not_count(self):
        """A GPU that waits for a checkpoint is not used badly; SageMaker cannot tell."""
        use = np.r_[full(95, 1100), full(0, 100)]
        began = START + 1100 * TICK
        pauses = [
            Span(began, 25 * SECOND, "step", "EVAL", "EVAL", 7),
            Span(began + 25 * SECOND, 25 * SECOND, "pause", "checkpoint"),
        ]
        profile = made_profile(samples("gpu0", use), pauses)

        assert [] == judged("low_gpu_utilization", profile)[0]
        assert [] != judged("low_gpu_utilization:profile=compat", profile)[0]

    def test_machines_are_not_mixed(self):
        """An idle GPU here and a busy core there are no bottleneck."""
        here = samples("gpu0", full(5)) + cores(full(20))
        there = samples("gpu0", full(90)) + cores(full(99))
        found, status = judged("cpu_bottleneck", made_profile({"here": here, "there": there}))

        assert ([], "NoIssuesFound") == (found, status.status)

    def test_the_phase_in_which_the_training_waits_is_told(self):
        """What the cores were busy with is half of the answer."""
        system = samples("gpu0", full(3)) + cores(full(97))
        (finding,), _ = judged(
            "cpu_bottleneck", made_profile(system, steps(np.full(300, 2.0), data=0.9))
        )

        assert "most of them in the phase data" in finding.message

    def test_each_worker_is_judged_by_itself(self):
        """A slow one is not hidden by the others, and they are not blamed."""
        usual = np.random.default_rng(0).normal(0.1, 0.001, 400)
        slow = usual.copy()
        slow[50::20] = 0.7
        profile = made_profile(spans={"worker_0": steps(usual), "worker_1": steps(slow)})

        assert ["worker_1"] == [one.worker for one in judged("step_outlier", profile)[0]]

    def test_steps_in_which_a_checkpoint_is_written_are_no_outliers(self):
        """That they take longer is known."""
        lengths = np.full(400, 0.1)
        lengths[50::20] = 2.0
        spans = steps(lengths)
        at_checkpoint = [one for one in spans if one.kind == "step" and one.duration_ns > SECOND]
        pauses = [
            Span(one.start_ns + SECOND // 5, SECOND, "pause", "checkpoint") for one in at_checkpoint
        ]

        assert [] != judged("step_outlier", made_profile(spans=spans))[0]
        assert [] == judged("step_outlier", made_profile(spans=spans + pauses))[0]

    def test_cores_are_shared_by_the_workers(self):
        """Four processes for each of two workers are right on eight cores."""
        spans = {}
        for worker in ("worker_0", "worker_1"):
            loading = [
                Span(START + second * SECOND, TICK, "loader", "fetch", thread=f"loader/{number}")
                for second in range(60)
                for number in range(4)
            ]
            spans[worker] = steps(np.full(60, 1.0), data=0.2) + loading
        profile = made_profile(cores(*[full(30, 120)] * 8), spans)

        assert "NoIssuesFound" == judged("dataloader", profile)[1].status


class TestEpisodes:
    def test_what_goes_on_is_one_finding(self):
        """However long."""
        found, status = judged("low_gpu_utilization", made_profile(samples("gpu0", full(5, 4000))))

        assert 1 == len(found)
        assert "found again" in status.details

    def test_each_step_of_memory_is_told_once(self):
        """And a leak is one finding, however much it leaks."""
        memory = np.r_[full(20, 1100), full(40, 300), full(60, 300)]
        profile = made_profile(samples("gpu0", memory, "memory_percent"))
        found, _ = judged("gpu_memory_increase", profile)

        assert [(20, 40), (40, 60)] == [
            (one.evidence["before"], one.evidence["after"]) for one in found
        ]

    def test_compat_ends_with_the_first_finding(self):
        """As every rule of SageMaker does."""
        profile = made_profile(samples("gpu0", full(5)) + samples("gpu1", full(5)))

        assert 2 == len(judged("low_gpu_utilization", profile)[0])
        assert 1 == len(judged("low_gpu_utilization:profile=compat", profile)[0])


class TestParameters:
    def test_sagemaker_calls_them_by_its_own_names(self):
        """Both ways."""
        built = [compat_rule("mine", {"rule_to_invoke": name}) for name in THEIRS]

        assert list(PROFILE_RULES) == [one.rule.name for one in built]
        assert list(THEIRS) == [compat_name(one) for one in built]

    @pytest.mark.parametrize("name", PROFILE_RULES)
    def test_every_rule_takes_the_time_between_two_judgements(self, name):
        """As SageMaker's do."""
        (watched,) = parse_rules(f"{name}:scan_interval_us=120000000")
        assert 120_000_000 == watched.rule.scan_interval_us

        with pytest.raises(ConfigError, match="scan_interval_us"):
            parse_rules(f"{name}:scan_interval_us=0")

    def test_a_rule_that_asks_for_it_judges_more_often(self):
        """Ten seconds after it has seen enough, and not a minute."""
        profile = made_profile(samples("gpu0", full(5)))
        often, seldom = (
            judged(f"low_gpu_utilization:scan_interval_us={us}", profile)[1].evaluations
            for us in (10_000_000, 60_000_000)
        )

        assert often > 5 * seldom

    @pytest.mark.parametrize(
        ("spec", "words"),
        [
            ("low_gpu_utilization:threshold_p95=101", "threshold_p95"),
            ("cpu_bottleneck:cpu_scope=every", "cpu_scope"),
            ("step_outlier:stddev=0", "stddev"),
            ("step_outlier:mode=SLEEP", "mode"),
            ("dataloader:min_threshold=300", "max_threshold"),
            ("gpu_memory_increase:window=1", "window"),
        ],
    )
    def test_a_value_that_cannot_be_meant_is_an_error(self, spec, words):
        """Before training starts."""
        with pytest.raises(ConfigError, match=words):
            parse_rules(spec)

    def test_sagemakers_name_of_a_mode_is_one(self):
        """Its steps are called so."""
        profile = made_profile(spans=steps(alternating(0.1, 400, 1.0, 0.1)))

        assert [] != judged("step_outlier:mode=Step:ModeKeys.TRAIN", profile)[0]


class TestNumbers:
    @pytest.mark.slow
    @pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.rule)
    def test_the_numbers_behind_a_judgement_are_json(self, scenario):
        """Reports show them, whatever was found."""
        (watched,) = parse_rules(scenario.rule)
        watch = Watch([watched])
        watch.scan(scenario.profile(), ended=True)

        assert json.loads(json.dumps(watched.rule.details(), allow_nan=False)) is not None
        assert watched.rule.datapoints >= 0

    def test_the_use_of_machines_is_summed_up(self):
        """Mean over cores and GPUs, quantiles over time, bytes too."""
        system = samples("gpu0", noisy(50, 10, 1200)) + samples("gpu1", full(100))
        system += samples("network", full(1e6), "receive_bytes_per_second")
        (watched,) = parse_rules("overall_system_usage")
        Watch([watched]).scan(made_profile(system), ended=True)
        told = watched.rule.details()

        assert 75 == pytest.approx(told["node-1 GPU"]["p50"], rel=0.02)
        assert {1e6} == {told["node-1 network received"][name] for name in ("max", "min", "p95")}

    def test_where_the_time_went_sums_to_all_of_it(self):
        """Modes and what is between them; phases of steps."""
        train, other = steps(np.full(50, 1.0), data=0.25), steps(np.full(10, 1.0), "EVAL")
        other = [one._replace(start_ns=one.start_ns + 60 * SECOND) for one in other]
        (watched,) = parse_rules("overall_framework_metrics")
        Watch([watched]).scan(made_profile(spans=train + other), ended=True)
        told = watched.rule.details()

        assert {"TRAIN": 71.43, "EVAL": 14.29, "others": 14.29} == told["mode"]
        assert 100 == pytest.approx(sum(told["phase"].values()), abs=0.02)

    def test_quantiles_of_any_number_of_values_are_within_a_hundredth(self):
        """From nothing to terabytes, in little room."""
        values = np.r_[0.0, 10 ** np.random.default_rng(0).uniform(-3, 12, 5000)]
        known = QuantileSketch()
        for part in np.array_split(values, 7):
            known.add(part)

        for share in (0.05, 0.5, 0.95, 0.99):
            assert np.quantile(values, share) == pytest.approx(known.of(share), rel=0.02)
        assert (0.0, values.max()) == (known.least, known.most)
        assert np.isnan(QuantileSketch().of(0.5))
