"""Profiles in which a rule must, or must not, find something."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from stepwatch.formats.profile.tables import Span
from stepwatch.trial.profile import Profile
from tests.support.rules.profile.made_profiles import (
    SECOND,
    START,
    TICK,
    cores,
    made_profile,
    noisy,
    samples,
    steps,
)

N = 1200


class Scenario(NamedTuple):
    """A rule, a profile, and the status that the rule must end with."""

    rule: str
    profile: Callable[[], Profile]
    status: str


def gpu(values, memory=None, cpu=None):
    """One GPU, its memory, and one core."""
    system = samples("gpu0", values)
    system += [] if memory is None else samples("gpu0", memory, "memory_percent")
    return made_profile(system + ([] if cpu is None else cores(cpu)))


def full(value, length=N):
    return np.full(length, float(value))


def alternating(share, length=N, high=100.0, low=0.0):
    """High at so many tenths of the readings, spread evenly."""
    tenths = round(10 * share)
    return np.where(np.arange(length) * tenths % 10 < tenths, high, low)


def two_gpus(first, second):
    return made_profile(samples("gpu0", first) + samples("gpu1", second))


def bottleneck(share, use=5.0, metric="busy_percent", value=95.0):
    """A GPU that idles, while one of two cores is busy or waits at a share of the moments."""
    system = samples("gpu0", full(use)) + cores(full(10), full(10))
    return made_profile(system + samples("cpu1", alternating(share, high=value, low=5), metric))


def busy_core(share, use=5.0):
    """A GPU that idles, while one of two cores is busy at a share of the moments."""
    busy = alternating(share, high=95, low=10)
    return made_profile(samples("gpu0", full(use)) + cores(busy, full(10)))


def startup(minutes, steps_after=True):
    """So many minutes of busy cores and an idle GPU, then a busy GPU."""
    before = round(minutes * 120)
    use = np.r_[full(2, before), full(95, N)]
    cpu = np.r_[full(99, before), full(30, N)]
    began = START + before * TICK
    spans = [
        Span(began + number * SECOND, SECOND, "step", "TRAIN", "TRAIN", number)
        for number in range(600 if steps_after else 0)
    ]
    return made_profile(samples("gpu0", use) + cores(cpu), spans)


def slowed_by_cores(by, share=0.6):
    """A machine without GPUs: at a share of the minutes all cores are busy, and steps longer."""
    is_busy = alternating(share, 20, 1, 0).astype(bool)
    busy = np.repeat(np.where(is_busy, 98.0, 40.0), 120)
    lengths = [
        length for one in is_busy for length in ([by] * round(60 / by) if one else [1.0] * 60)
    ]
    return made_profile(cores(busy, busy), steps(lengths))


def slow_steps(number, length=1.0, usual=0.1, all_of=1000):
    """Steps of a tenth of a second, some of them longer."""
    seconds = np.random.default_rng(0).normal(usual, 0.002, all_of)
    seconds[np.linspace(20, all_of - 1, number).astype(int)] = length
    return made_profile(spans=steps(seconds))


def first_step_after(minutes, of=30):
    """Readings of a core for half an hour, and a first step after some minutes."""
    first = Span(START + round(minutes * 60 * SECOND), SECOND, "step", "TRAIN", "TRAIN", 0)
    return made_profile(cores(full(20, of * 120)), [first])


def loaders(workers, wait, num_cores=8):
    """A minute of steps on a machine of so many cores; loaders, or the process itself, load."""
    spans = steps(np.full(60, 1.0), data=wait)
    for worker in range(workers):
        spans += [
            Span(START + second * SECOND, SECOND // 2, "loader", "fetch", thread=f"loader/{worker}")
            for second in range(60)
        ]
    return made_profile(cores(*[full(30, 120)] * num_cores), spans)


SCENARIOS = [
    Scenario("batch_size", partial(gpu, full(30), full(15), full(20)), "IssuesFound"),
    Scenario("batch_size", partial(gpu, full(90), full(15), full(20)), "NoIssuesFound"),
    Scenario("batch_size", partial(gpu, full(30), full(85), full(20)), "NoIssuesFound"),
    Scenario("batch_size", partial(gpu, full(30, 900), full(15, 900), full(20, 900)),
             "NotEvaluated"),
    Scenario("batch_size", partial(gpu, full(30)), "NotEvaluated"),
    Scenario("cpu_bottleneck", partial(busy_core, 0.6), "IssuesFound"),
    Scenario("cpu_bottleneck", partial(busy_core, 0.4), "NoIssuesFound"),
    Scenario("cpu_bottleneck", partial(busy_core, 0.6, use=50), "NoIssuesFound"),
    Scenario("cpu_bottleneck:cpu_scope=mean", partial(busy_core, 0.6), "NoIssuesFound"),
    Scenario("cpu_bottleneck:patience=1100", partial(startup, 12), "NoIssuesFound"),
    Scenario("cpu_bottleneck:profile=compat", partial(startup, 12), "IssuesFound"),
    Scenario("cpu_bottleneck", partial(slowed_by_cores, 2.0), "IssuesFound"),
    Scenario("cpu_bottleneck", partial(slowed_by_cores, 1.0), "NoIssuesFound"),
    Scenario("cpu_bottleneck", partial(slowed_by_cores, 2.0, share=1.0), "NoIssuesFound"),
    Scenario("io_bottleneck", partial(bottleneck, 0.6, metric="iowait_percent", value=80),
             "IssuesFound"),
    Scenario("io_bottleneck", partial(bottleneck, 0.6, metric="iowait_percent", value=30),
             "NoIssuesFound"),
    Scenario("io_bottleneck", partial(bottleneck, 0.6, 50, "iowait_percent", 80), "NoIssuesFound"),
    Scenario("io_bottleneck", lambda: made_profile(
        cores(full(20)) + samples("cpu0", full(70), "iowait_percent")), "IssuesFound"),
    Scenario("io_bottleneck", lambda: made_profile(
        cores(full(20)) + samples("pressure", full(70), "io_some_percent")), "IssuesFound"),
    Scenario("io_bottleneck:pressure=false", lambda: made_profile(
        cores(full(20)) + samples("pressure", full(70), "io_some_percent")), "NotEvaluated"),
    Scenario("gpu_memory_increase", partial(gpu, full(50, 1300),
             np.r_[full(40, 1100), full(60, 200)]), "IssuesFound"),
    Scenario("gpu_memory_increase", partial(gpu, full(50, 1300),
             np.r_[full(40, 1100), full(46, 200)]), "IssuesFound"),
    Scenario("gpu_memory_increase:profile=compat", partial(gpu, full(50, 1300),
             np.r_[full(40, 1100), full(60, 200)]), "NoIssuesFound"),
    Scenario("gpu_memory_increase:profile=compat", partial(gpu, full(50, 1300),
             np.r_[full(40, 1100), full(70, 200)]), "IssuesFound"),
    Scenario("gpu_memory_increase", partial(gpu, full(50, 1600),
             np.r_[full(20, 1000), 20 + 0.05 * np.arange(600)]), "IssuesFound"),
    Scenario("gpu_memory_increase", partial(gpu, full(50, 1300), full(40, 1300)), "NoIssuesFound"),
    Scenario("gpu_memory_increase", partial(gpu, full(50, 9000), noisy(40, 2, 9000)),
             "NoIssuesFound"),
    Scenario("load_balancing", partial(two_gpus, full(100), full(20)), "IssuesFound"),
    Scenario("load_balancing", partial(two_gpus, noisy(80, 5, N), noisy(80, 5, N, 1)),
             "NoIssuesFound"),
    Scenario("load_balancing", partial(two_gpus, noisy(80, 5, N), noisy(76, 5, N, 1)),
             "NoIssuesFound"),
    Scenario("load_balancing:profile=compat", partial(two_gpus, noisy(80, 5, N),
             noisy(76, 5, N, 1)), "IssuesFound"),
    Scenario("load_balancing", lambda: made_profile(
        {"a": samples("gpu0", full(95)), "b": samples("gpu0", full(30))}), "IssuesFound"),
    Scenario("load_balancing", partial(gpu, full(95)), "NotEvaluated"),
    Scenario("low_gpu_utilization", partial(gpu, full(30)), "IssuesFound"),
    Scenario("low_gpu_utilization", partial(gpu, alternating(0.5)), "IssuesFound"),
    Scenario("low_gpu_utilization", partial(gpu, full(92)), "NoIssuesFound"),
    Scenario("low_gpu_utilization", partial(gpu, full(30, 900)), "NotEvaluated"),
    Scenario("low_gpu_utilization", lambda: made_profile(cores(full(50))), "NotEvaluated"),
    Scenario("dataloader", partial(loaders, 0, 0.3), "IssuesFound"),
    Scenario("dataloader", partial(loaders, 8, 0.3), "NoIssuesFound"),
    Scenario("dataloader", partial(loaders, 20, 0.0), "IssuesFound"),
    Scenario("dataloader", partial(loaders, 0, 0.0), "NotEvaluated"),
    Scenario("max_initialization_time", partial(first_step_after, 21), "IssuesFound"),
    Scenario("max_initialization_time", partial(first_step_after, 19), "NoIssuesFound"),
    Scenario("step_outlier", partial(slow_steps, 12), "IssuesFound"),
    Scenario("step_outlier", partial(slow_steps, 8), "NoIssuesFound"),
    Scenario("step_outlier", partial(slow_steps, 150), "IssuesFound"),
    Scenario("step_outlier:profile=compat", partial(slow_steps, 150), "NoIssuesFound"),
    Scenario("step_outlier:profile=compat", partial(slow_steps, 12), "IssuesFound"),
    Scenario("step_outlier", partial(slow_steps, 12, all_of=90), "NotEvaluated"),
    Scenario("step_outlier:mode=EVAL", partial(slow_steps, 12), "NotEvaluated"),
    Scenario("overall_system_usage", partial(gpu, full(30)), "NoIssuesFound"),
    Scenario("overall_framework_metrics", partial(slow_steps, 8), "NoIssuesFound"),
]  # fmt: skip
