"""Chromium without a screen, and what pages do in it.

    python tests/browser/chromium.py   installs it with apt-get, where it is not there yet

It is Debian's own, driven by playwright's protocol. It starts with an empty profile, asks nobody
for anything of its own accord, and what pages ask for is written down.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PACKAGE = "chromium"
DESKTOP, PHONE = (1280, 900), (390, 844)
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass
class Visit:
    """A page that is open.

    Args:
        page: As playwright has it.
        errors: What it said on its console as an error, or raised.
        asked: The addresses that it asked for, itself included.
    """

    page: Any
    errors: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def outside(self, *own: str) -> list[str]:
        """Return the addresses that begin with none of these, and are not in the page itself."""
        inside = (*own, "data:", "blob:", "about:")
        return [address for address in self.asked if not address.startswith(inside)]

    def wait_for_figures(self, count: int) -> None:
        """Wait until so many of Plotly's figures are drawn."""
        self.page.wait_for_function(
            "count => document.querySelectorAll('.js-plotly-plot .main-svg').length >= count",
            arg=count,
        )

    def wait_for_charts(self, count: int) -> None:
        """Wait until so many of the dashboard's figures are drawn."""
        self.page.wait_for_function(f"count => ({_CHARTS})().length >= count", arg=count)

    def charts(self) -> list[dict[str, Any]]:
        """Return title, width and height of each figure of the dashboard."""
        return self.page.evaluate(_CHARTS)  # type: ignore[no-any-return]

    def figures(self) -> list[dict[str, float]]:
        """Return width, height and the number of traces of each figure of Plotly's."""
        return self.page.evaluate(_FIGURES)  # type: ignore[no-any-return]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return self.page.evaluate(  # type: ignore[no-any-return]
            "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )

    def color(self, selector: str = "body", what: str = "background-color") -> str:
        """Return a computed colour of the first element of a kind."""
        script = "([selector, what]) => getComputedStyle(document.querySelector(selector))[what]"
        return self.page.evaluate(script, [selector, what])  # type: ignore[no-any-return]


_CHARTS = """
() => [...document.querySelectorAll('figure')].filter(
  figure => figure.offsetParent && figure.querySelector('canvas:not(.bar):not(.over)')?.width > 0
).map(figure => {
  const box = figure.querySelector('.plot').getBoundingClientRect();
  const title = figure.querySelector('h3').textContent;
  return { title, width: box.width, height: box.height };
}).filter(chart => chart.height > 0)
"""
_FIGURES = """
() => [...document.querySelectorAll('.js-plotly-plot')].map(plot => {
  const box = plot.querySelector('.main-svg').getBoundingClientRect();
  return { width: box.width, height: box.height, traces: plot.data.length };
})
"""


class Chromium:
    """The browser, from ``with`` to its end.

    Raises:
        RuntimeError: It cannot be installed; the message says why.
    """

    def __enter__(self) -> Chromium:
        from playwright.sync_api import sync_playwright

        program = install()
        self._driver = sync_playwright().start()
        try:
            self._browser = self._driver.chromium.launch(executable_path=program, args=[*_FLAGS])
        except BaseException:
            self._driver.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.close()
        self._driver.stop()

    @contextmanager
    def visit(
        self,
        address: str | Path,
        *,
        size: tuple[int, int] = DESKTOP,
        scheme: str = "light",
        headers: dict[str, str] | None = None,
        script: str = "",
        timeout_s: float = 120,
    ) -> Iterator[Visit]:
        """Open a page in a profile of its own.

        Args:
            address: Of the page; a path for a file.
            size: Of the window, pixels.
            scheme: What the reader prefers, ``light`` or ``dark``.
            headers: Sent with every request.
            script: Run in the page before any of its own.
            timeout_s: How long anything may take.
        """
        width, height = size
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            extra_http_headers=headers or {},
        )
        context.set_default_timeout(timeout_s * 1000)
        page = context.new_page()
        if script:
            page.add_init_script(script)
        visit = Visit(page)
        page.on(
            "console", lambda said: visit.errors.append(said.text) if said.type == "error" else None
        )
        page.on("pageerror", lambda error: visit.errors.append(str(error)))
        page.on("request", lambda request: visit.asked.append(request.url))
        try:
            page.goto(address.as_uri() if isinstance(address, Path) else address)
            yield visit
        finally:
            context.close()


def install() -> str:
    """Install the browser where it is absent; return the path of the program.

    Raises:
        RuntimeError: That is not possible here.
    """
    program = shutil.which(PACKAGE)
    if program is None:
        command = ["apt-get", "install", "--yes", "--no-install-recommends", PACKAGE]
        if shutil.which("apt-get") is None:
            raise RuntimeError(f"{PACKAGE} is needed, and there is no apt-get to install it")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        program = shutil.which(PACKAGE)
        if program is None:
            raise RuntimeError(f"apt-get cannot install {PACKAGE}: {done.stderr.strip()[-500:]}")
    return program


if __name__ == "__main__":
    sys.stdout.write(f"{install()}\n")
