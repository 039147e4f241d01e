"""The process in which ``stepwatch certify`` runs a script again and again, each time in a fork.

Torch is imported once, here, and no thread is started: a fork has it for nothing. Each run has a
fresh copy of the folder as its working directory. What was found is printed, a line of JSON each.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.variables import set_launched
from ..diff.parting import NoiseBand, first_parting, noise_band
from ..errors import TrainingStopped
from ..runtime.process import free_port
from .launch import Script

if TYPE_CHECKING:
    from ..diff.parting import HeldRun
    from ..hooks.torch.certify.session import Change, Relation, RunOutcome, Session

_LEFT_OUT = (".git", ".venv", "venv", "node_modules", "__pycache__", "runs", ".mypy_cache")
#: A larger file is linked instead of copied.
LARGE_BYTES = 32 << 20
#: More files, or more bytes of files that are not large, are no script's folder.
MOST_FILES, MOST_BYTES = 20_000, 1 << 30
_POLL_S = 0.005
#: By so many runs with nudged weights it is measured how far rounding leads, where that decides.
_NUDGED = 3
#: How long the other processes may go on after the first one.
_GRACE_S = 10.0
Say = Callable[[Mapping[str, Any]], None]


class TooLarge(Exception):
    """A folder holds too much to be copied for every run."""


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder for a run; large files become links, and what is no file is left out.

    Raises:
        TooLarge: It holds too much.
    """
    files = size = 0

    def copy(here: str, there: str) -> str:
        nonlocal files, size
        size_bytes = os.path.getsize(here)
        files += 1
        if size_bytes > LARGE_BYTES:
            os.symlink(os.path.abspath(here), there)
            return there
        size += size_bytes
        if files > MOST_FILES or size > MOST_BYTES:
            raise TooLarge(
                f"{source} holds too much to be copied for every run; "
                "start from a folder with the script and what it reads"
            )
        shutil.copy2(here, there)
        return there

    shutil.rmtree(target, ignore_errors=True)
    by_name = shutil.ignore_patterns(*_LEFT_OUT)

    def ignore(folder: str, names: list[str]) -> set[str]:
        # A socket or a pipe of somebody else cannot be copied.
        paths = ((name, os.path.join(folder, name)) for name in names)
        others = {name for name, path in paths if not (os.path.isfile(path) or os.path.isdir(path))}
        return by_name(folder, names) | others

    shutil.copytree(
        source, target, ignore=ignore, copy_function=copy, ignore_dangling_symlinks=True
    )


class Runs:
    """Runs a script, each time in a fork of this process.

    Args:
        script: The program.
        folder: Where it is run: each time a copy of it.
        steps: How many TRAIN steps.
        limit_s: A run that takes longer is ended.
        say: Takes what happens.
    """

    def __init__(
        self, script: Script, folder: Path, *, steps: int, limit_s: float, say: Say
    ) -> None:
        self._script, self._folder = script, folder
        self._steps, self._limit_s, self._say = steps, limit_s, say
        self._place = Path(tempfile.mkdtemp(prefix="stepwatch-certify-"))
        self._parent = os.getppid()
        #: How many processes a launcher is to have started; 0 for none.
        self.processes = 0
        self.num_runs = 0
        self.seconds: list[float] = []

    def close(self) -> None:
        shutil.rmtree(self._place, ignore_errors=True)

    def run(
        self,
        name: str,
        change: Change,
        facts: dict[str, Any],
        *,
        anew: bool = True,
        processes: int = 0,
    ) -> RunOutcome:
        """Run it once with a change; what goes wrong is in the outcome.

        Args:
            name: What is shown of it meanwhile.
            change: What is done to it.
            facts: What an earlier run has shown.
            anew: Whether it begins in a fresh copy of the folder, or where the last run ended.
            processes: How many run it, as a launcher starts them; 0 for one as all the others. What
                they have shown is of the first, and that of the others is its fact ``others``.
        """
        from ..hooks.torch.certify.session import RunOutcome, Session

        self._say({"event": "begins", "run": name})
        work = self._place / "work"
        if anew:
            copy_folder(self._folder, work)
        processes = processes or self.processes
        answers = [self._place / f"answer-{rank}" for rank in range(max(1, processes))]
        for answer in answers:
            answer.unlink(missing_ok=True)
        began, port = time.monotonic(), free_port() if processes else 0
        steps = min(self._steps, change.enough_steps or self._steps)
        pids: list[int] = []
        for rank, answer in enumerate(answers):
            pid = os.fork()
            if not pid:
                if processes:
                    set_launched(rank, processes, port)
                self._child(
                    Session(
                        change, facts, steps=steps, cut=max(2, self._steps // 2), rank=rank,
                        processes=processes,
                    ),
                    work, answer,
                )  # fmt: skip
            pids.append(pid)
        how = self._wait(pids, began)
        self.num_runs += 1
        self.seconds.append(time.monotonic() - began)
        # Written by our own forks a moment ago, in a folder of our own.
        found, *others = [
            pickle.loads(answer.read_bytes()) if answer.exists() else None for answer in answers
        ]
        if found is None:
            return RunOutcome([], {}, how or "the process died")
        found["facts"]["others"] = [one["facts"] if one else {} for one in others]
        return RunOutcome(found["steps"], found["facts"], how or found["error"])

    def _wait(self, pids: Sequence[int], began: float) -> str:
        """Wait for processes, and return how the first of them ended, where that is not well."""
        left, how, until = list(pids), "", began + self._limit_s
        try:
            while left:
                self._check_wanted()
                done, status = os.waitpid(left[0], os.WNOHANG)
                if done:
                    if left.pop(0) == pids[0]:
                        how = f"killed by signal {status & 127}" if status & 127 else ""
                        until = min(until, time.monotonic() + _GRACE_S)
                elif time.monotonic() > until:
                    if left[0] == pids[0]:
                        how = f"it took more than {self._limit_s:g} s"
                    break
                else:
                    time.sleep(_POLL_S)
        finally:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        return how

    def _check_wanted(self) -> None:
        """Raise KeyboardInterrupt where who asked for all this is gone."""
        if os.getppid() != self._parent:
            raise KeyboardInterrupt

    def _child(self, session: Session, work: Path, answer: Path) -> None:
        """Run the script in this process, a fork, and end it."""
        try:
            os.chdir(work)
            output = os.open(
                answer.with_suffix(".output"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600
            )
            os.dup2(output, 1)
            os.dup2(output, 2)
            answer.write_bytes(pickle.dumps(self._run_here(session)))
        finally:
            os._exit(0)

    def _run_here(self, session: Session) -> dict[str, Any]:
        warnings.simplefilter("ignore")
        error = ""
        try:
            session.attach()
            self._script.execute()
        except TrainingStopped:
            pass
        except SystemExit as ended:
            error = f"it ended by SystemExit: {ended.code}" if ended.code else ""
        except BaseException as raised:  # noqa: BLE001  a script may end in any way
            traceback.print_exc()
            error = f"{type(raised).__name__}: {raised}".splitlines()[0]
        if session.hook is not None:
            failure = session.hook.failure
            session.hook.close()
            error = error or (f"capturing failed: {failure}" if failure else "")
        return {"steps": session.kept.steps, "facts": session.facts, "error": error}


class Certificate:
    """Judges relations by runs of a script.

    Args:
        runs: Runs the script.
        relations: What is asked for.
        say: Takes each result.
    """

    def __init__(self, runs: Runs, relations: Mapping[str, type[Relation]], say: Say) -> None:
        self._runs, self._relations, self._say = runs, relations, say
        self._nudged: list[tuple[HeldRun, HeldRun]] = []

    def judge(self) -> None:
        """Judge all of them, and say each result."""
        from ..hooks.torch.certify.session import Change

        plain = self._runs.run("as it is", _as_is(), {})
        seconds = self._runs.seconds[-1]
        if plain.error and (plain.facts.get("asks_rank") or plain.facts.get("distributed")):
            self._runs.processes = 1
            plain = self._runs.run("as a launcher starts it", _as_is(), {})
        num_steps = sum(str(step.mode) == "TRAIN" for step in plain.steps)
        if plain.error or not num_steps:
            why = plain.error or "it trained nothing with torch"
            self._say({"event": "failed", "why": f"the script as it is: {why}"})
            return
        again = self._runs.run("as it is, again", _as_is(), plain.facts)
        apart = first_parting(plain.steps, again.steps, NoiseBand(), _compared())
        noise = "" if apart is None else f"two runs of the script itself part at {apart.where()}"
        base, band = plain, noise_band((plain.steps, again.steps))
        if not noise:
            if any(plain.facts[one] for one in ("dropout", "compiles", "autocasts", "model_draws")):
                base = self._runs.run("without dropout, eager, not cast", Change(), plain.facts)
            band = self._band(base, plain.facts)
        self._say({
            "event": "noise", "apart": noise, "steps": num_steps, "cut": plain.facts["cut"],
            "evaluations": plain.facts["evaluations"], "seconds": seconds,
        })  # fmt: skip
        for name, kind in self._relations.items():
            self._say({"event": "result", **self._judge_one(name, kind, plain, base, band, noise)})

    def _band(self, base: RunOutcome, facts: dict[str, Any], *, runs: int = 1) -> NoiseBand:
        """Return how far rounding alone leads, by so many runs, each nudged otherwise."""
        while len(self._nudged) < runs:
            change = _nudge(len(self._nudged) + 1)
            nudged = self._runs.run("weights nudged by roundings", change, facts)
            self._nudged.append((base.steps, nudged.steps))
        return noise_band(*self._nudged)

    def _judge_one(
        self,
        name: str,
        kind: type[Relation],
        plain: RunOutcome,
        base: RunOutcome,
        band: NoiseBand,
        noise: str,
    ) -> dict[str, Any]:
        relation = kind()
        about = {"relation": name, "title": kind.title}
        mine = base if kind.fixed else plain
        facts = {**plain.facts, "model_draws": base.facts.get("model_draws", "")}
        facts["step_draws"] = base.facts.get("step_draws", False)
        why = base.error or (noise if name != "seeds" else "") or relation.why_not(facts)
        if why:
            return {**about, "outcome": "does not apply", "why": why}
        if kind.stops:  # the first of two runs: it ends where the script saves its state
            first = self._runs.run(f"{kind.title}: stopped", relation, facts)
            facts = {**facts, "stopped": first.facts.get("state")}
        if kind.processes:
            mine = self._runs.run(f"{kind.title}: one", relation, facts, processes=1)
            if mine.error:
                return {
                    **about,
                    "outcome": "does not apply",
                    "why": f"the script does not run as one of a launcher: {mine.error}",
                }
            facts = mine.facts
        run = self._runs.run(
            kind.title, relation, facts, anew=not kind.stops, processes=kind.processes
        )
        seconds = self._runs.seconds[-1]
        why = "" if not run.error else f"the script does not run so: {run.error}"
        why = why or relation.why_unchanged(run.facts)
        if why:
            return {**about, "outcome": "does not apply", "why": why, "seconds": seconds}
        found = relation.judge(mine, run, band if kind.fixed else NoiseBand())
        if found is not None and found.parting is not None and kind.fixed:
            # One run may have been nudged by luck to where it hardly mattered.
            found = relation.judge(mine, run, self._band(base, plain.facts, runs=_NUDGED))
        if found is None:
            return {**about, "outcome": "holds", "why": "", "seconds": seconds}
        broken: dict[str, Any] = {
            **about,
            "outcome": "breaks",
            "why": f"{found.where}: {found.message}",
            "points_at": kind.points_at,
            "seconds": seconds,
        }
        if found.parting is not None:
            parting = found.parting
            broken |= {
                "mode": str(parting.mode),
                "mode_step": parting.mode_step,
                "tensor": parting.tensor,
                "stage": parting.stage,
                "statistic": parting.field,
                "expected": parting.here,
                "found": parting.there,
                "relative": parting.relative,
                "allowed": parting.allowed,
            }
        return broken


def all_relations() -> dict[str, type[Relation]]:
    """Return every relation by its name."""
    from ..hooks.torch.certify import processes, relations

    return {one.name: one for one in (*relations.RELATIONS, *processes.RELATIONS)}


def _compared() -> frozenset[str]:
    from ..hooks.torch.certify.session import KEPT

    return KEPT


def _as_is() -> Change:
    from ..hooks.torch.certify.session import AsIs

    return AsIs()


def _nudge(seed: int) -> Change:
    from ..hooks.torch.certify.session import Nudged

    return Nudged(seed)


def main() -> None:
    """Do what the first argument asks for, as JSON; print a line of JSON for what happens."""
    asked = json.loads(sys.argv[1])
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(what: Mapping[str, Any]) -> None:
        print(json.dumps(what), file=out, flush=True)

    script = Script(asked["script"], tuple(asked["arguments"]), is_module=asked["module"])
    known = all_relations()
    chosen = {name: known[name] for name in asked["relations"]}
    runs = Runs(
        script, Path(asked["folder"]), steps=asked["steps"], limit_s=asked["limit_s"], say=say
    )
    try:
        Certificate(runs, chosen, say).judge()
        say({"event": "over", "runs": runs.num_runs})
    except TooLarge as error:
        say({"event": "failed", "why": str(error)})
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        runs.close()


if __name__ == "__main__":
    main()
