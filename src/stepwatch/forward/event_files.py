"""TensorBoard: what is found, in the files that a script writes by a ``SummaryWriter``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .last_made import LastMade
from .tracker import Finding, RunSummary, Tracker, finding_text, markdown_text

_MODULES = ("torch.utils.tensorboard.writer", "tensorboardX.writer")
_SUFFIX = ".stepwatch"


class TensorBoard(Tracker):
    """Texts, and a curve that rises where something was found.

    The writer that was made last is written to, as TensorBoard reads one file of a folder at a
    time. One that was closed begins another file, of another name: that of tensorboardX knows
    seconds only, and would empty the one that was closed in the same.
    """

    def __init__(self) -> None:
        self._writer = LastMade(_MODULES, "SummaryWriter")
        self._step = 0

    def prepare(self) -> None:
        self._writer.begin()

    def open_run(self) -> Any:
        writer = self._writer.get()
        suffix = getattr(writer, "_filename_suffix", None)
        if isinstance(suffix, str) and getattr(writer, "all_writers", None) is None:  # closed
            writer._filename_suffix = f"{suffix.removesuffix(_SUFFIX)}{_SUFFIX}"
        return writer

    def begin(self, run: Any, url: str) -> None:
        run.add_text("stepwatch/run", url)

    def finding(self, run: Any, finding: Finding, number: int) -> None:
        step = max(finding.step, 0)
        text = markdown_text(finding_text(finding))
        run.add_text("stepwatch/finding", text.replace("\n", "  \n"), step)  # a break in Markdown
        run.add_scalar("stepwatch/findings", number, step)

    def scalars(self, run: Any, step: int, values: Mapping[str, float]) -> None:
        self._step = step
        for name, value in values.items():
            run.add_scalar(f"stepwatch/{name}", value, step)

    def summary(self, run: Any, summary: RunSummary) -> None:
        run.add_text("stepwatch/verdict", summary.markdown(), self._step)
        run.flush()

    def close(self) -> None:
        self._writer.end()
