"""Measures scene by scene, and keeps what was measured when it is broken off."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from processes import (
    SMDEBUG_NONE,
    ProcessFailed,
    footprint_alone,
    smdebug_footprint,
    smdebug_times,
)
from rounds import Timed, take_turns
from ways import Way
from write_rate import WriteRate, write_rate

from report import Scene

WARM_UP = 5
FOOTPRINT_STEPS = 20


class Bench:
    """Measures, and has what it measured until now at any moment.

    Args:
        folder: Where the ways write; emptied again.
        ways: Those that are timed in this process, by name.
        smdebug: Those of the real smdebug, by name, each with its interpreter.
        turn: Steps of a way in a row.
    """

    def __init__(
        self, folder: Path, ways: Mapping[str, Way], smdebug: Mapping[str, str], turn: int
    ) -> None:
        self.scenes: list[Scene] = []
        self.rate: WriteRate | None = None
        self._folder = folder
        self._ways = ways
        self._smdebug = smdebug
        self._turn = turn

    def time(self, kind: str, mode: str, steps: int) -> None:
        """Time all ways on one model.

        Args:
            kind: A key of ``models.KINDS``.
            mode: ``eager`` or ``compiled``.
            steps: Timed steps of each way. A way that does its work more rarely is left out.
        """
        ways = {name: way for name, way in self._ways.items() if way.every <= steps}
        scene = Scene(kind, mode, ways)
        self.scenes.append(scene)
        with self._place(f"{kind} {mode}") as folder:
            self._time_here(scene, folder, steps)
        for way, python in self._smdebug.items():
            with self._place(f"{kind} {mode}: {way}") as folder:
                try:
                    found = smdebug_times(python, kind, way, folder / way, steps, mode)
                except ProcessFailed as error:
                    scene.failed[way] = str(error)
                else:
                    scene.timed[way], scene.plain[way] = found

    def take_footprints(self) -> None:
        """Train each way of the last scene alone, in a process of its own."""
        scene = self.scenes[-1]
        steps = FOOTPRINT_STEPS * scene.rush
        for way in scene.ways:
            with self._place(f"{scene.kind}: {way} alone") as folder:
                taken = footprint_alone(scene.kind, way, folder / "run", steps)
                scene.footprints[way] = taken
        ways = dict(self._smdebug)
        if ways:
            ways[SMDEBUG_NONE] = next(iter(ways.values()))
        for way, python in ways.items():
            with self._place(f"{scene.kind}: {way} alone") as folder:
                taken = smdebug_footprint(python, scene.kind, way, folder / "run", steps)
                scene.footprints[way] = taken

    def take_write_rate(self) -> None:
        """Measure how fast the GPT's full values are written."""
        with self._place("writing full values") as folder:
            self.rate = write_rate("gpt", folder)

    def say(self, text: str) -> None:
        """Show how far it is, on a terminal, in place of what was shown before."""
        if sys.stderr.isatty():
            print(f"\r\x1b[2K{text[:78]}", end="", file=sys.stderr, flush=True)

    def _time_here(self, scene: Scene, folder: Path, steps: int) -> None:
        compiled = scene.mode == "compiled"
        trainings = {
            name: way.make(scene.kind, folder / name, compiled=compiled)
            for name, way in scene.ways.items()
        }
        scene.timed.update({name: Timed() for name in trainings})
        try:
            take_turns(
                trainings,
                scene.timed,
                warm_up=WARM_UP,
                steps=steps,
                turn=self._turn,
                say=lambda text: self.say(f"{scene.kind} {scene.mode}: {text}"),
            )
        finally:
            for name, training in trainings.items():
                scene.timed[name].written = training.close()

    @contextmanager
    def _place(self, what: str) -> Iterator[Path]:
        """Say what is measured, and give it a folder that is gone afterwards."""
        self.say(what)
        folder = self._folder / "scene"
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder)
