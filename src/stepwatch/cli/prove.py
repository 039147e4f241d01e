"""``stepwatch prove RUN``: run the step of a finding again under changes, to prove its cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import click

from ..capture.plan import DIGEST, EXPONENTS, RAW
from ..errors import ConfigError, StepUnavailable, nearest
from ..formats.blackbox import Frame
from ..formats.proofs import Proof, Tried, write_proof
from ..judge.anomaly import Anomaly
from ..judge.evaluate import stored_or_evaluated
from ..judge.proof import LONG, Prover, why_not_proved
from ..judge.root_cause import sign_of
from ..model.finding import Finding
from ..model.record import StepRecord
from ..model.steps import Mode
from ..rules import DEFAULT_RULES
from ..trial import Trial
from ..trial.alternatives import Alternative, Replayed
from ..trial.recording import (
    Recording,
    find_options,
    find_recording,
    forwards_and_snapshots,
)
from .console import console, print_hanging, print_json, progress_console, table
from .replay import check_trusted, frames_by_worker
from .replays import Replays, Task
from .run_names import RUN, RunVerb
from .script_command import TRUST, time_limit

NOT_PROVED_STATUS = 1
#: So many steps before the anomaly are run again as well, and after it: what only comes later
#: is not removed. Where many steps may have made it, and those few do not tell, as many as these.
_BEFORE, _AFTER, _LONG_BEFORE = 10, 5, 200
#: So many findings of a chain are tried: what is wrong may only show in what followed from it.
_MOST_FINDINGS = 3


@click.command(cls=RunVerb)
@click.argument("run", type=RUN)
@click.option("--finding", "wanted", metavar="ID", help="This finding; by default the first cause.")
@TRUST
@time_limit("replay")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def prove(run: str, wanted: str | None, limit_s: float, *, trust: bool, as_json: bool) -> int:
    """Run the step of a finding again under changes, to prove its cause.

    The smallest change of RUN's step under which its rule finds nothing is the proved cause. It is
    written into RUN, beside the finding.

    This runs the program that RUN names, again and again. Where you did not make RUN on this
    machine, the program is shown, and you are asked first.

    The exit status is 0 if the cause was proved, 1 if it stays a suspicion, 2 if no step can be run
    again.
    """
    trial = Trial(run)
    findings = _find(trial, wanted)
    finding = findings[0]
    if why := why_not_proved(finding):
        proof = _unproved(finding, why)
        write_proof(trial.store, proof)
    else:
        boxes = frames_by_worker(trial)
        _recording(trial, boxes[_whose(boxes, finding)], finding, _BEFORE)
        check_trusted(trial, trust=trust)
        finding, proof = _prove_one_of(trial, boxes, findings, limit_s)
    if as_json:
        print_json({"run": trial.url, "finding": finding.to_dict(), "proof": proof.to_dict()})
    else:
        _show(finding, proof)
    return 0 if proof.proved else NOT_PROVED_STATUS


def _find(trial: Trial, wanted: str | None) -> list[Finding]:
    """Return a finding by its ID or the beginning of it, or some of the first cause.

    Those are of the first chain of which a replay may prove any, one of each rule and condition.
    """
    verdict = stored_or_evaluated(trial, default=DEFAULT_RULES)
    if not verdict.findings:
        raise ConfigError(f"nothing was found in {trial.path}; see: stepwatch check {trial.path}")
    if wanted is None:
        for chain in verdict.chains:
            can = [one for one in chain.findings if not why_not_proved(one)]
            if can:
                kinds = {(one.rule, one.condition): one for one in reversed(can)}
                return [one for one in can if one in kinds.values()][:_MOST_FINDINGS]
        return [verdict.chains[0].findings[0]]
    found = [one for one in verdict.findings if one.finding_id.startswith(wanted)]
    if len({one.finding_id for one in found}) != 1:
        known = [one.finding_id for one in verdict.findings]
        raise ConfigError(f"no one finding {wanted!r} in {trial.path}{nearest(wanted, known)}")
    return found[:1]


def _prove_one_of(
    trial: Trial, boxes: Mapping[str, list[Frame]], findings: list[Finding], limit_s: float
) -> tuple[Finding, Proof]:
    """Return the first finding whose cause is proved, with the proof; else the first finding.

    Proofs are stored as they are found, so that each finding has its own.
    """
    tried: list[tuple[Finding, Proof]] = []
    for finding in findings:
        sign = sign_of(finding)
        lengths = (_BEFORE, _LONG_BEFORE) if sign in LONG else (_BEFORE,)
        for before in (finding.step,) if sign == "schedule" else lengths:
            try:
                frames = boxes[_whose(boxes, finding)]
                recording = _recording(trial, frames, finding, before)
            except StepUnavailable:
                if not tried:
                    raise
                break
            if before == _LONG_BEFORE and tried[-1][1].steps[:1] == (recording.first,):
                break  # no more of it was recorded
            proof = _prove(trial, boxes, recording, finding, limit_s)
            write_proof(trial.store, proof)
            tried.append((finding, proof))
            if proof.proved:
                return tried[-1]
    return tried[0]


def _whose(boxes: Mapping[str, object], finding: Finding) -> str:
    """Return the worker whose steps show a finding; the first one where it is of all."""
    return finding.worker if finding.worker in boxes else next(iter(boxes))


def _unproved(finding: Finding, why: str) -> Proof:
    return Proof(finding.finding_id, finding.rule, finding.step, False, "", why, evidence={})


def _recording(trial: Trial, frames: list[Frame], finding: Finding, before: int) -> Recording:
    """Return the steps around a finding.

    Args:
        trial: The run.
        frames: Of its black box.
        finding: What was found.
        before: How many steps before it began are run again, as far as they were recorded.

    Raises:
        StepUnavailable: It began before the first state that is known.
    """
    numbers = dict(zip(trial.steps(Mode.TRAIN), trial.global_steps(Mode.TRAIN), strict=True))
    train = {step: mode_step for mode_step, step in numbers.items()}
    is_evaluated = finding.mode == str(Mode.EVAL)
    if is_evaluated:
        earlier = [mode_step for step, mode_step in train.items() if step <= finding.step]
        last = max(earlier, default=0)
    elif finding.step in train:
        last = train[finding.step]
    else:
        raise StepUnavailable(f"step {finding.step} is no TRAIN step that was recorded")
    onset = finding.began
    began = next((mode_step for step, mode_step in train.items() if step >= onset), last)
    # The evaluations of a script are the same again where it begins with its first step.
    begins = 0 if is_evaluated else max(0, began - before)
    try:
        recording = find_recording(frames, last, begins=begins)
    except StepUnavailable as error:
        raise StepUnavailable(f"the step of {finding.rule} cannot be run again: {error}") from None
    if recording.first > (0 if is_evaluated else began):
        raise StepUnavailable(
            f"{finding.rule} began at TRAIN step {began}, and the first state that is known is of "
            f"{recording.first}; next time: stepwatch run --snapshot every=K, with more "
            "--black-box MB"
        )
    recording.check_complete()
    # A schedule that is longer shows at the end what it is.
    after = max(numbers) - last if sign_of(finding) == "schedule" else _AFTER
    for more in range(after, 0, -1):
        if last + more in numbers:
            try:
                longer = find_recording(frames, last + more, begins=recording.first)
                longer.check_complete()
            except StepUnavailable:
                continue
            if longer.first == recording.first:
                return longer
    return recording


def _prove(
    trial: Trial,
    boxes: Mapping[str, list[Frame]],
    recording: Recording,
    finding: Finding,
    limit_s: float,
) -> Proof:
    worker = _whose(boxes, finding)
    anomaly = Anomaly(trial, finding, recording, worker if len(boxes) > 1 else None)
    common = Task(
        trial.reader.manifest,
        recording,
        limit_s=limit_s,
        levels=_levels(anomaly.records),
        num_evaluations=len(anomaly.evaluations),
    )
    tasks = {name: _of_worker(common, trial, frames) for name, frames in boxes.items()}
    own, rank = tasks[worker], list(boxes).index(worker)
    output = progress_console()

    def show(tried: Tried) -> None:
        if output.is_terminal:
            output.print(f"  {tried.text}: {tried.outcome}", style="dim", markup=False)

    with Replays(list(tasks.values())) as replays:

        def run(change: Alternative) -> Replayed:
            return replays.run(change, rank)[rank]

        return Prover(anomaly, own.forwards, own.snapshots, run, show).prove()


def _of_worker(task: Task, trial: Trial, frames: list[Frame]) -> Task:
    """Return what another worker runs again: the same steps, of its own batches.

    Raises:
        StepUnavailable: It did not record them.
    """
    recording = task.recording
    last = recording.first + len(recording.steps) - 1
    own = find_recording(frames, last, begins=recording.first)
    own.check_complete()
    forwards, snapshots = forwards_and_snapshots(frames)
    return replace(
        task,
        recording=own,
        forwards=forwards,
        snapshots=snapshots,
        options=find_options(trial, frames),
    )


def _levels(records: Iterable[StepRecord]) -> dict[str, int]:
    """Return what steps have of their tensors beside statistics, as ``capture.plan`` has it."""
    levels: dict[str, int] = {}
    for record in records:
        kinds = (RAW, record.raw), (DIGEST, record.digests), (EXPONENTS, record.exponents)
        for level, values in kinds:
            for name in values:
                levels[name] = levels.get(name, 0) | level
    return levels


def _show(finding: Finding, proof: Proof) -> None:
    output = console()
    output.print(finding.headline(), markup=False, soft_wrap=True)
    print_hanging(output, "  ", proof.line(), "bold green" if proof.proved else "bold yellow")
    if proof.tried:
        rows = [(one.text, one.outcome, one.why) for one in proof.tried]
        first, last = proof.steps
        output.print(f"  TRAIN steps {first} to {last}, run again {len(rows)} times:", style="dim")
        output.print(table(("what was changed", "the finding", "why"), rows))
