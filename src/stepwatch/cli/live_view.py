"""A run in a notebook, as it goes on: how it stands, what was found, and its losses."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from html import escape
from typing import Any

from ..errors import MissingDependency, RunNotFound, StepwatchError
from ..judge.evaluate import load_verdict
from ..plots.svg import svg
from ..runtime.background import Background
from ..trial import Trial
from .run_names import find_run

try:
    import anywidget
    import traitlets
except ModuleNotFoundError as error:
    raise MissingDependency(
        f"{error.name} is not installed; run: pip install 'stepwatch[notebook]'"
    ) from None

# Fonts and colors are those of the notebook, in which a figure finds its ink by these names.
_ESM = """
function render({ model, el }) {
  const box = document.createElement("div");
  box.setAttribute("aria-live", "polite");
  box.style.setProperty("--text", "currentColor");
  const show = () => { box.innerHTML = model.get("html"); };
  model.on("change:html", show);
  show();
  el.appendChild(box);
}
export default { render };
"""


class LiveView(anywidget.AnyWidget):
    """Shows how a run stands, and is drawn again as it goes on: the last line of a cell.

    Rules judge the run where it is trained, by ``stepwatch run`` or a ``LiveWatch``. A run that
    does not exist yet is waited for. What it showed last stays in a notebook that is saved.

    Args:
        run: Its path or URL, its name in the folder of runs, or ``latest`` for the newest there.
        every_s: How often it is read, seconds.

    Example:
        ``stepwatch.LiveView("runs/first")``
    """

    _esm = _ESM
    #: What is shown.
    html = traitlets.Unicode().tag(sync=True)

    def __init__(self, run: str | os.PathLike[str] = "latest", *, every_s: float = 2.0) -> None:
        super().__init__()
        self._run = os.fspath(run)
        self._trial: Trial | None = None
        self._over = threading.Event()
        self._reader: Background[None] | None = None
        if self._draw():
            self._over.set()
        else:
            self._reader = Background(
                lambda _: None, tick=self._follow, tick_s=every_s, name="stepwatch-view"
            )

    def close(self) -> None:
        """Show it no more, and read it no more."""
        self._over.set()
        if self._reader is not None:
            self._reader.close()
        super().close()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the run has ended and its end is shown; return whether it is."""
        return self._over.wait(timeout_s)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget, and what it shows now for where there are no widgets."""
        data, about = super()._repr_mimebundle_(**options) or ({}, {})
        return {**data, "text/html": self.html}, about

    def _follow(self) -> None:
        if not self._over.is_set() and self._draw():
            self._over.set()
            if self._reader is not None:
                self._reader.close()

    def _draw(self) -> bool:
        """Show how the run stands; return whether it will stay so."""
        try:
            if self._trial is None:
                self._trial = Trial(find_run(self._run))
            else:
                self._trial.refresh()
            ended = self._trial.ended
            self.html = _html(self._trial)
        except RunNotFound:
            self.html = f"<p>waiting for {escape(self._run)}</p>"
        except StepwatchError as error:  # it may be another time, as of a store out of reach
            self.html = f"<p>{escape(str(error))}</p>"
        else:
            return ended
        return False


def _html(trial: Trial) -> str:
    figure = ""
    with suppress(StepwatchError):  # no loss yet
        figure = svg(trial.plot.losses(), width=860)
    return load_verdict(trial)._repr_html_() + figure
