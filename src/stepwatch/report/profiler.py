"""The profiler report: where the time and the machines went, and what profiler rules say of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..rules.judged import Shown, in_silence
from ..rules.judgement import Judgement
from ..rules.parameters import Spec
from ..trial import Trial
from ..trial.profile import Profile
from .document import Block, Report, Section, Table, Text
from .job_time import JobTime, job_time
from .operators import operators
from .profile_sections import durations_chart, shares_chart, usage_table
from .profiler_devices import balance, batch_size, gpu_memory, gpu_usage
from .profiler_rules import judged_profile, of_rule, rules_summary
from .profiler_steps import by_phase, step_durations
from .profiler_waits import bottlenecks, loading
from .read_once import read_once
from .run import of_sections, when
from .step_times import step_times
from .usage import Machines, usage, verdicts

_DISCLAIMER = "These are hints from what was measured, and no proof of what would make it faster."


def suits(trial: Trial) -> bool:
    """Return whether anything was profiled."""
    return bool(trial.profile.machines or trial.profile.workers)


def report(
    trial: Trial,
    rules: Sequence[Spec] | None = None,
    *,
    shown: Shown = in_silence,  # noqa: ARG001
) -> Report:
    """Return where the time of a run went.

    Args:
        trial: The run.
        rules: Judge it anew, by these.
        shown: Shows how far judging is.
    """
    return of(trial, judged_profile(trial, rules))


def of(trial: Trial, judgement: Judgement) -> Report:
    """Return the report with what profiler rules say already."""
    profile = read_once(trial)
    machines = Machines(profile)
    job = job_time(trial, profile)
    sections = [
        Section("summary", "Training job summary", (*_summary(job),)),
        Section("system", "System usage statistics", (*_system(profile, machines),)),
        Section("framework", "Framework metrics summary", (*by_phase(profile),)),
        *_operators(trial),
        Section("rules", "Rules summary", (*rules_summary(judgement),)),
        *_training_loop(profile, machines, job, judgement),
    ]
    return of_sections("profiler", trial, judgement, sections)


def _summary(job: JobTime | None) -> Iterator[Block]:
    if job is None:
        yield Text("Nothing is known of when this job ran.", "note")
        return
    yield Text(f"The job began at {when(job.start_ns)} and took {lasting(job.seconds)}.")
    rows: list[tuple[str, str | float, str]] = [
        ("start", when(job.start_ns), ""),
        ("end", when(job.end_ns), ""),
        ("duration", round(job.seconds, 3), "s"),
    ]
    parts = job.parts()
    if not parts or job.loop_start_ns is None or job.loop_end_ns is None:
        yield _rows(rows)
        yield Text("No step was timed, so nothing is known of its training loop.", "note")
        return
    rows += [
        ("training loop start", when(job.loop_start_ns), ""),
        ("training loop end", when(job.loop_end_ns), ""),
    ]
    for name, seconds in parts.items():
        rows.append((name, round(seconds, 3), "s"))
        rows.append((f"{name}, share", round(100 * seconds / max(job.seconds, 1e-9), 1), "%"))
    yield _rows(rows)
    yield shares_chart(parts, "Time of the job")


def _rows(rows: list[tuple[str, str | float, str]]) -> Table:
    told = (
        (name, value if isinstance(value, str) else f"{value:,g} {unit}")
        for name, value, unit in rows
    )
    return Table(("", ""), tuple(told))


def lasting(seconds: float) -> str:
    """Return a time as people say it.

    Example:
        >>> lasting(0.25), lasting(75), lasting(7380)
        ('0.25 s', '1 min 15 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _system(profile: Profile, machines: Machines) -> Iterator[Block]:
    used = usage(machines)
    yield from (Text(sentence) for sentence in verdicts(used))
    table = usage_table(used)
    yield table or Text("No device was read.", "note")
    yield from (Text(note, "note") for note in profile.notes)


def _operators(trial: Trial) -> Iterator[Section]:
    """Yield what ran on the CPU and on GPUs, if a window was traced in detail."""
    for where, found in zip(("CPU", "GPU"), operators(trial), strict=True):
        if found:
            whole = sum(found.values())
            rows = tuple(
                (round(100 * cost / whole, 2), round(cost), name) for name, cost in found.items()
            )
            costliest = next(iter(found))
            blocks = (
                Text(f"{costliest} is the costliest operator on the {where}."),
                Table(("%", "cumulative µs", "operator"), rows),
                shares_chart(found, f"{where} operators", "µs"),
            )
            yield Section(f"{where.lower()}-operators", f"Overview: {where} operators", blocks, 2)


def _training_loop(
    profile: Profile, machines: Machines, job: JobTime | None, judgement: Judgement
) -> Iterator[Section]:
    """Yield a section for each question about the loop, after the verdict of its rule."""
    times = [*step_times(profile)]
    parts = job.parts() if job else {}
    slow_start = parts.get("initialization", 0.0) > parts.get("training loop", float("inf"))
    what = "the initialization, which took longer" if slow_start else "the training loop"
    drawn: list[Block] = [durations_chart(times)] if times else []
    said = [*of_rule(judgement, "max_initialization_time"), Text(_DISCLAIMER, "note"), *drawn]
    yield Section("loop", f"Analyzing {what}", tuple(said))
    questions = (
        (
            "step-durations",
            "Step duration analysis",
            "step_outlier",
            step_durations(times, profile),
        ),
        ("gpu-utilization", "GPU utilization analysis", "low_gpu_utilization", gpu_usage(machines)),
        ("balance", "Workload balancing", "load_balancing", balance(machines)),
        ("loading", "Dataloading analysis", "dataloader", loading(profile)),
        ("batch-size", "Batch size", "batch_size", batch_size(machines)),
        (
            "cpu-bottlenecks",
            "CPU bottlenecks",
            "cpu_bottleneck",
            bottlenecks(profile, machines, "cpu"),
        ),
        (
            "io-bottlenecks",
            "I/O bottlenecks",
            "io_bottleneck",
            bottlenecks(profile, machines, "io"),
        ),
        ("gpu-memory", "GPU memory", "gpu_memory_increase", gpu_memory(machines)),
    )
    for key, heading, rule, blocks in questions:
        yield Section(key, heading, (*of_rule(judgement, rule), *blocks), 2)
