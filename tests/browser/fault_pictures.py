"""Pictures of faults for ``docs/faults.md``: what the page of each run opens with.

    python tests/browser/fault_pictures.py RUN=NAME … --folder docs/images/faults

RUN is where a run lies, NAME what its picture is called.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from PIL import Image

from tests.browser.chromium import Chromium
from tests.browser.test_dashboard_pages import served, settled

#: As wide as it is drawn, and as it is kept; so many colours are enough for text, lines and cells.
DRAWN, KEPT, COLORS = 1180, 800, 128


def picture(browser: Chromium, run: Path) -> Image.Image:
    """Return the overview of a run: what went wrong first, the numbers, and the layers."""
    with served(run) as url, browser.visit(url, size=(DRAWN, 900)) as visit:
        visit.wait_for_charts(1)
        settled(visit)
        last = "[...document.querySelectorAll('figure')].at(-1).getBoundingClientRect()"
        bottom = visit.page.evaluate(f"() => {last}.bottom + window.scrollY + 16")
        clip = {"x": 0, "y": 0, "width": DRAWN, "height": bottom}
        drawn = Image.open(io.BytesIO(visit.page.screenshot(full_page=True, clip=clip)))
    smaller = drawn.convert("RGB").resize((KEPT, round(drawn.height * KEPT / DRAWN)), Image.LANCZOS)
    return smaller.quantize(COLORS, dither=Image.Dither.NONE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", metavar="RUN=NAME")
    parser.add_argument("--folder", type=Path, default=Path("docs/images/faults"))
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    with Chromium() as browser:
        for run, _, name in (one.rpartition("=") for one in asked.runs):
            path = asked.folder / f"{name}.png"
            picture(browser, Path(run)).save(path, optimize=True)
            print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
