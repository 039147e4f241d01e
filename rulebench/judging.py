"""Trains one program under a hook and shows what was captured to the rules.

The program knows nothing of the hook. Rules are shown the run as ``stepwatch check`` shows it, all
workers of a step together; what they find is what they find while it trains.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from stepwatch import Trial
from stepwatch.hooks.torch import TorchHook
from stepwatch.judge.parameters import parse_rules
from stepwatch.judge.rule import required_captures
from stepwatch.model.finding import Finding
from stepwatch.model.steps import Mode
from stepwatch.rules import StepView, Watch

from .outcome import Outcome, capture_digest, rules_digest
from .program import Program
from .trainings import replicas


@dataclass(frozen=True)
class Bench:
    """With which rules trainings are judged, and where what was captured is kept.

    Args:
        specs: Specs of rules.
        runs: Folder for runs; a run that is there is judged again without training.
        policy: What is saved beyond the defaults, as the rules want it.
        rules_version: Digest of the rules.
        capture_version: Digest of what is captured.
        budget: What observing may cost, see ``capture.budget``; ``None`` for no limit.
    """

    specs: tuple[str, ...]
    runs: Path
    policy: tuple[str, ...]
    rules_version: str
    capture_version: str
    budget: float | None = None

    @classmethod
    def of(cls, specs: Sequence[str], runs: Path, budget: float | None = None) -> Bench:
        """Return a bench with rules as they are in the source now."""
        policy = tuple(required_captures(parse_rules(list(specs))))
        captured = capture_digest([*policy, *([] if budget is None else [f"budget={budget}"])])
        return cls(tuple(specs), runs, policy, rules_digest(specs), captured, budget)

    def version(self, program: Program) -> str:
        """Return what an outcome depends on."""
        return f"{self.rules_version}-{self.capture_version}-{program.digest()}"

    def outcome(self, program: Program, seed: int) -> Outcome:
        """Train a program, or take what was captured before, and judge it."""
        started = time.perf_counter()
        run = self.runs / f"{program.name}-{seed}-{self.capture_version}-{program.digest()}"
        if not _is_complete(run):
            for old in self.runs.glob(f"{program.name}-{seed}-*"):
                shutil.rmtree(old, ignore_errors=True)
            self._train(program, seed, run)
        said = _evaluate(run, self.specs)
        return Outcome(
            program.name,
            seed,
            self.version(program),
            error=_error(run),
            seconds=round(time.perf_counter() - started, 3),
            **said,  # type: ignore[arg-type]
        )

    def _train(self, program: Program, seed: int, run: Path) -> None:
        if program.training.workers == 1:
            self._train_one(program, seed, run)
            return
        with tempfile.TemporaryDirectory() as folder:
            meeting = os.path.join(folder, "meeting")
            children = [
                self._fork(program, seed, run, rank, meeting)
                for rank in range(program.training.workers)
            ]
            statuses = [os.waitpid(child, 0)[1] for child in children]
        if any(statuses):
            raise RuntimeError(f"a worker of {program.name} died; their statuses are {statuses}")

    def _fork(self, program: Program, seed: int, run: Path, rank: int, meeting: str) -> int:
        child = os.fork()
        if child:
            return child
        status = 1
        try:
            workers = program.training.workers
            os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(workers))
            replicas.join(rank, workers, meeting)
            self._train_one(program, seed, run)
            replicas.leave()
            status = 0
        finally:
            os._exit(status)

    def _train_one(self, program: Program, seed: int, run: Path) -> None:
        torch.set_num_threads(1)
        warnings.simplefilter("ignore")
        training = program.build(seed)
        hook = TorchHook(
            run=run,
            listeners=[_Evidence(self.policy)],
            hold=False,
            say=lambda _: None,
            black_box_mb=0,
            budget=self.budget,
        )
        state, error = "finished", ""
        try:
            training.train()
        except Exception as raised:  # noqa: BLE001 - a faulty training may end by any
            state, error = "failed", f"{type(raised).__name__}: {raised}"
        hook.close(state, error)


class _Evidence:
    """Has saved what rules need, as a ``LiveWatch`` does, and judges nothing."""

    def __init__(self, evidence: Sequence[str]) -> None:
        self.evidence = evidence

    def start(self, *_: object) -> None: ...

    def on_step(self, record: object) -> None: ...

    def finish(self) -> None: ...


def _evaluate(run: Path, specs: Sequence[str]) -> Mapping[str, object]:
    """Return what rules say of a run, as fields of ``Outcome``."""
    trial = Trial(run)
    watch = Watch(list(specs), patterns=trial.patterns)
    trained = 0
    findings: list[tuple[Finding, int]] = []
    for records in trial.records(follow=False):
        step = StepView(records, trial.patterns)
        findings += [(finding, trained) for finding in watch.evaluate(step)]
        trained += step.mode is Mode.TRAIN
    findings += [(finding, trained) for finding in watch.finish()]
    return {
        "trained": trained,
        "findings": [{**finding.to_dict(), "trained": at} for finding, at in findings],
        "statuses": {status.rule: status.status for status in watch.statuses()},
    }


def _is_complete(run: Path) -> bool:
    return (run / "run.json").exists() and Trial(run).state in ("finished", "failed")


def _error(run: Path) -> str:
    ends = Trial(run).reader.ends()
    return next((end.error for end in ends.values() if end.error), "")
