"""The analysis of what Python's profilers wrote."""

from __future__ import annotations

import json
import os
import pstats
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from stepwatch.plugins.registry import require
from stepwatch.store import open_store
from stepwatch.store.local import LocalStore

from ..python_profile_utils import PythonProfileModes, StepPhase, mode_name
from .utils.python_profile_analysis_utils import (
    PyinstrumentStepStats,
    StepPythonProfileStats,
    cProfileStats,
)

_FILES = ("python_stats", "python_stats.json", "python_stats.html")
_US = 1e6
_Modes = tuple[PythonProfileModes, PythonProfileModes]


class PythonProfileAnalysis:
    """Finds what Python's profilers wrote of a training.

    Files of cProfile are read by Python's own ``pstats``, which trusts them: open only your own.

    Args:
        local_profile_dir: Where they lie, ``framework/<framework>/<profiler>`` or above it; with
            ``s3_path`` where they are put.
        s3_path: Where they lie otherwise.
    """

    name: ClassVar[str] = ""

    def __init__(
        self, local_profile_dir: str = "/tmp/python_stats", s3_path: str | None = None
    ) -> None:
        self._folder = os.path.abspath(local_profile_dir)
        self._path = s3_path or self._folder
        self.python_profile_stats: list[StepPythonProfileStats] = []
        self._refresh()

    def fetch_profile_stats_by_step(
        self,
        start_step: int,
        end_step: int | None = None,
        mode: PythonProfileModes = PythonProfileModes.TRAIN,
        start_phase: StepPhase = StepPhase.STEP_START,
        end_phase: StepPhase = StepPhase.STEP_END,
        node_id: str = "any",
        refresh_stats: bool = True,
    ) -> Any:
        """Return what was measured from a phase of one step to a phase of another."""
        last = start_step if end_step is None else end_step
        return self._fetch(
            lambda one: (
                one.has_start_and_end_mode(mode, mode)
                and one.in_step_interval(start_step, last, start_phase, end_phase)
            ),
            node_id,
            refresh_stats,
        )

    def fetch_profile_stats_by_time(
        self,
        start_time_since_epoch_in_secs: float,
        end_time_since_epoch_in_secs: float,
        node_id: str = "any",
        refresh_stats: bool = True,
    ) -> Any:
        """Return what was measured in a time, in seconds since the Unix epoch."""
        start, end = start_time_since_epoch_in_secs * _US, end_time_since_epoch_in_secs * _US
        return self._fetch(lambda one: one.in_time_interval(start, end), node_id, refresh_stats)

    def fetch_profile_stats_between_modes(
        self,
        start_mode: PythonProfileModes,
        end_mode: PythonProfileModes,
        node_id: str = "any",
        refresh_stats: bool = True,
    ) -> Any:
        """Return what was measured from one mode to another."""
        return self._fetch(
            lambda one: one.has_start_and_end_mode(start_mode, end_mode), node_id, refresh_stats
        )

    def fetch_pre_step_zero_profile_stats(
        self, node_id: str = "any", refresh_stats: bool = True
    ) -> Any:
        """Return what was measured before the first step."""
        chosen = StepPythonProfileStats.has_pre_step_zero_profile_stats
        return self._fetch(chosen, node_id, refresh_stats)

    def fetch_post_hook_close_profile_stats(
        self, node_id: str = "any", refresh_stats: bool = True
    ) -> Any:
        """Return what was measured after the hook was closed."""
        chosen = StepPythonProfileStats.has_post_hook_close_profile_stats
        return self._fetch(chosen, node_id, refresh_stats)

    def list_profile_stats(self, refresh_stats: bool = True) -> Any:
        """Return a frame with a row for each time that Python was profiled."""
        if refresh_stats:
            self._refresh()
        pandas = require("pandas", extra="analysis")
        fields = list(StepPythonProfileStats.__dataclass_fields__)
        rows = [[getattr(one, name) for name in fields] for one in self.python_profile_stats]
        frame = pandas.DataFrame(rows, columns=fields)
        modes = {name: frame[name].map(mode_name) for name in ("start_mode", "end_mode")}
        return frame.assign(**modes)

    def list_available_node_ids(self, refresh_stats: bool = True) -> list[str]:
        """Return who was profiled."""
        if refresh_stats:
            self._refresh()
        return sorted({one.node_id for one in self.python_profile_stats})

    def _join(self, stats: list[StepPythonProfileStats]) -> Any:
        """Return what several times measured together."""
        raise NotImplementedError

    def _fetch(
        self, chosen: Callable[[StepPythonProfileStats], bool], node_id: str, refresh: bool
    ) -> Any:
        if refresh:
            self._refresh()
        nodes = [one.node_id for one in self.python_profile_stats]
        wanted = nodes[0] if node_id == "any" and nodes else node_id
        found = [one for one in self.python_profile_stats if one.node_id == wanted and chosen(one)]
        if not found:
            print("No stats were found for the requested interval!")
            return None
        return self._join(found)

    def _refresh(self) -> None:
        store = open_store(self._path)
        found = []
        for key in store.list():
            path = f"{self._folder}/{key}"
            if key.rpartition("/")[2] not in _FILES:
                continue
            try:
                one = StepPythonProfileStats.of_path(path)
            except ValueError:
                continue  # a file of this name that lies elsewhere
            if self.name in ("", one.profiler_name):
                found.append(one)
                if not isinstance(store, LocalStore) and not os.path.exists(path):
                    Path(path).parent.mkdir(parents=True, exist_ok=True)
                    Path(path).write_bytes(store.get(key))
        found.sort(key=lambda one: (one.start_time_since_epoch_in_micros, one.node_id))
        self.python_profile_stats = found


class cProfileAnalysis(PythonProfileAnalysis):  # noqa: N801 - smdebug's name
    """Finds what cProfile wrote; answers are ``cProfileStats``, ``None`` for nothing."""

    name = "cprofile"

    def fetch_profile_stats_by_training_phase(
        self, node_id: str = "any", refresh_stats: bool = True
    ) -> dict[_Modes, cProfileStats]:
        """Return what was measured from each mode to each, where something was."""
        if refresh_stats:
            self._refresh()
        known = {(one.start_mode, one.end_mode) for one in self.python_profile_stats}
        found = {
            modes: self.fetch_profile_stats_between_modes(*modes, node_id, refresh_stats=False)
            for modes in sorted(known)
        }
        return {modes: stats for modes, stats in found.items() if stats is not None}

    def fetch_profile_stats_by_job_phase(
        self, node_id: str = "any", refresh_stats: bool = True
    ) -> dict[str, cProfileStats]:
        """Return what was measured in ``initialization``, ``training_loop``, ``finalization``."""
        joined: dict[str, pstats.Stats] = {}
        for modes, stats in self.fetch_profile_stats_by_training_phase(
            node_id, refresh_stats
        ).items():
            name = "training_loop"
            if modes[0] is PythonProfileModes.PRE_STEP_ZERO:
                name = "initialization"
            elif modes[1] is PythonProfileModes.POST_HOOK_CLOSE:
                name = "finalization"
            joined[name] = joined[name].add(stats.ps) if name in joined else stats.ps
        return {name: cProfileStats(ps) for name, ps in joined.items()}

    def _join(self, stats: list[StepPythonProfileStats]) -> cProfileStats:
        return cProfileStats(pstats.Stats(*(one.stats_path for one in stats)))


class PyinstrumentAnalysis(PythonProfileAnalysis):
    """Finds what pyinstrument wrote; answers are lists of ``PyinstrumentStepStats``."""

    name = "pyinstrument"

    def _join(self, stats: list[StepPythonProfileStats]) -> list[PyinstrumentStepStats]:
        paths = {one.stats_path for one in stats}
        found = []
        for path in sorted(path for path in paths if path.endswith(".json")):
            page = path.removesuffix(".json") + ".html"
            document = json.loads(Path(path).read_text(encoding="utf-8"))
            found.append(PyinstrumentStepStats(page if page in paths else "", document))
        return found
