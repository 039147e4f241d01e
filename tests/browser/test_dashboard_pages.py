"""The dashboard in a real browser: every page on every kind of run, by mouse and by keyboard."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from stepwatch.formats.findings import write_statuses
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.model.finding import Finding
from stepwatch.model.steps import Mode
from stepwatch.numerics.exponents import count_exponents
from stepwatch.runtime.process import identity
from stepwatch.store import open_store
from stepwatch.testing import make_record, make_run
from tests.browser.axe import script, violations
from tests.browser.chromium import DESKTOP, PHONE
from tests.support.looked_at import (
    EVIL,
    begin,
    judge,
    make_arrays,
    make_looked_at,
    make_runs_folder,
    profile,
    status,
)

pytestmark = pytest.mark.browser

STEPWATCH = Path(sys.executable).with_name("stepwatch")
#: What a live step may take to be on the screen, on a machine that does much else.
PATIENCE_MS = 15_000

RUN_PAGES = {
    "overview": "run?run={run}",
    "tensors": "tensors?run={run}",
    "search": "tensors?run={run}&search=weight",
    "tensor": "tensor?run={run}&name=fc.weight&step=3",
    "images": "tensor?run={run}&name=conv.weight",
    "machine": "machine?run={run}",
    "last": "last?run={run}",
    "step": "machine?run={run}&step=4",
    "rules": "rules?run={run}",
}


@contextmanager
def served(place, *options):
    """Serve the runs at a place by the command, and yield the address it prints."""
    command = [STEPWATCH, "dash", str(place), "--port", "0", "--no-open", *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield re.search(r"http\S+", server.stdout.readline())[0]
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folder of ``looked_at``, with a profile."""
    folder = make_runs_folder(tmp_path_factory.mktemp("runs"))
    profile(open_store(folder / "healthy"))
    return folder


@pytest.fixture(scope="module")
def address(runs):
    with served(runs) as url:
        yield url


def settled(visit):
    """Wait until nothing more is asked for and the page has said what it has to say."""
    visit.page.wait_for_function("() => document.querySelector('.page')?.innerText.length > 3")
    visit.page.wait_for_timeout(300)
    visit.page.wait_for_function(
        "() => { const now = performance.getEntriesByType('resource').length;"
        " const same = window.lastCount === now; window.lastCount = now; return same; }",
        polling=700,
    )


def is_sound(visit, address):
    """Nothing failed, nothing came from elsewhere, and nothing is wider than the window."""
    assert [] == visit.errors
    assert [] == visit.outside(address.partition("?")[0])
    assert visit.overflow() <= 0
    assert all(chart["width"] > 200 < chart["height"] + 160 for chart in visit.charts())


# How far down the middle of what is coloured lies, at some places from the left to the right.
_COLORED_ROWS = """
places => {
  const canvas = document.querySelector('.heat canvas:not(.bar):not(.over)');
  const pen = canvas.getContext('2d');
  return places.map(place => {
    const { data } = pen.getImageData(Math.round(place * canvas.width), 0, 1, canvas.height);
    const rows = [];
    for (let at = 0; at < canvas.height; at += 1) {
      const [red, green, blue] = data.slice(4 * at, 4 * at + 3);
      if (Math.max(red, green, blue) - Math.min(red, green, blue) > 60) rows.push(at);
    }
    return rows.length ? rows.reduce((sum, row) => sum + row) / rows.length : -1;
  });
}
"""


class TestPages:
    @pytest.mark.parametrize("look", [(DESKTOP, "light"), (PHONE, "dark")], ids=["wide", "narrow"])
    @pytest.mark.parametrize("run", ["healthy", "deep/faulty"])
    @pytest.mark.parametrize("page", RUN_PAGES)
    def test_a_page_of_a_run(self, browser, screenshot, address, page, run, look):
        """It is drawn, in both schemes and widths."""
        size, scheme = look
        url = f"{address}#/{RUN_PAGES[page].format(run=quote(run))}"
        with browser.visit(url, size=size, scheme=scheme) as visit:
            settled(visit)
            screenshot(visit, f"{page}-{run.replace('/', '-')}-{scheme}")
            is_sound(visit, address)
            ground = visit.color("body")
            assert ("rgb(255, 255, 255)" == ground) is (scheme == "light")

    @pytest.mark.parametrize("page", ["overview", "tensors", "machine", "rules"])
    @pytest.mark.parametrize("run", ["smdebug", "damaged"])
    def test_a_page_of_another_kind_of_run(self, browser, screenshot, address, page, run):
        """One of smdebug's, and one that cannot be read, which says so."""
        with browser.visit(f"{address}#/{RUN_PAGES[page].format(run=run)}") as visit:
            settled(visit)
            screenshot(visit, f"{page}-{run}")
            is_sound(visit, address)
            assert ("is damaged" in visit.page.inner_text("main")) is (run == "damaged")

    @pytest.mark.parametrize("look", [(DESKTOP, "light"), (PHONE, "dark")], ids=["wide", "narrow"])
    def test_the_table_of_runs(self, browser, screenshot, address, look):
        """All of them, with their state, and what is damaged."""
        with browser.visit(address, size=look[0], scheme=look[1]) as visit:
            visit.page.wait_for_function(
                "() => [...document.querySelectorAll('tbody .state')].every(one => one.innerText)"
                " && document.querySelectorAll('tbody tr').length === 4"
            )
            screenshot(visit, f"runs-{look[1]}")
            is_sound(visit, address)
            rows = visit.page.locator("tbody tr").all_inner_texts()
            assert 4 == len(rows)
            assert any("unreadable" in row and "is damaged" in row for row in rows)

    def test_a_folder_without_runs(self, browser, screenshot, tmp_path):
        """It says how to make one."""
        with served(tmp_path) as address, browser.visit(address) as visit:
            settled(visit)
            screenshot(visit, "runs-none")
            is_sound(visit, address)
            assert "stepwatch run train.py" in visit.page.inner_text("main")

    def test_two_runs_side_by_side(self, browser, screenshot, address):
        """They are ticked in the table."""
        with browser.visit(address) as visit:
            page = visit.page
            page.get_by_label("compare healthy").check()
            page.get_by_label("compare deep/faulty").check()
            page.get_by_role("link", name="compare").click()
            visit.wait_for_charts(1)
            page.wait_for_selector("[data-row]")
            screenshot(visit, "compare")
            is_sound(visit, address)
            page.get_by_text("They part at TRAIN step 5").wait_for()
            settings = page.locator("table.small").first.inner_text()
            assert "TRAIN" not in settings


class TestAccess:
    @pytest.fixture(scope="class")
    def axe(self):
        return script()

    @pytest.mark.parametrize("look", [(DESKTOP, "light"), (PHONE, "dark")], ids=["wide", "narrow"])
    @pytest.mark.parametrize("page", ["", "compare", *RUN_PAGES])
    def test_nothing_keeps_anybody_from_using_a_page(self, browser, address, axe, page, look):
        """Names, roles, headings, contrast: axe-core finds nothing."""
        run = quote("deep/faulty" if page in ("overview", "rules", "last") else "healthy")
        paths = {"": "", "compare": f"compare?run=healthy&run={quote('deep/faulty')}"}
        path = paths.get(page) if page in paths else RUN_PAGES[page].format(run=run)
        with browser.visit(f"{address}#/{path}", size=look[0], scheme=look[1]) as visit:
            settled(visit)
            assert [] == violations(visit.page, axe)

    def test_the_theme_is_chosen_and_kept(self, browser, address):
        """Whatever the system prefers; figures follow."""
        with browser.visit(f"{address}#/run?run=healthy", scheme="light") as visit:
            visit.wait_for_charts(2)
            visit.page.keyboard.press("t")
            visit.page.keyboard.press("t")
            assert "dark" == visit.page.evaluate("() => document.documentElement.dataset.theme")
            assert "rgb(255, 255, 255)" != visit.color("body")
            visit.page.reload()
            visit.page.wait_for_selector(".banner")
            assert "rgb(255, 255, 255)" != visit.color("body")

    def test_the_keys_are_listed(self, browser, address):
        """By a question mark, until escape."""
        with browser.visit(f"{address}#/run?run=healthy") as visit:
            visit.page.wait_for_selector(".banner")
            visit.page.keyboard.press("?")
            assert "choose a row" in visit.page.inner_text("dialog")
            visit.page.keyboard.press("Escape")
            visit.page.wait_for_selector("dialog", state="detached")
            assert "#/run" in visit.page.url

    def test_the_table_is_cards_on_a_phone(self, browser, address):
        """Each says what its numbers are; nothing is beyond the edge."""
        with browser.visit(address, size=PHONE) as visit:
            visit.page.wait_for_selector("tbody tr .state.finished")
            cells = "() => getComputedStyle(document.querySelector('tbody tr')).display"
            assert "grid" == visit.page.evaluate(cells)
            assert visit.overflow() <= 0

    @pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
    def test_no_last_value_is_cut_off(self, browser, tmp_path, size):
        """However long the names of runs are that are compared."""
        names = [f"{word}-of-a-training-with-a-long-name" for word in ("first", "second")]
        for name in names:
            make_run(tmp_path / name, steps=4)
        query = "&".join(f"run={name}" for name in names)
        beyond = (
            "() => [...document.querySelectorAll('.lines .readout b')].filter(one =>"
            " one.getBoundingClientRect().right"
            " > one.closest('figure').getBoundingClientRect().right).length"
        )
        with (
            served(tmp_path) as url,
            browser.visit(f"{url}#/compare?{query}", size=size) as visit,
        ):
            visit.wait_for_charts(2)
            assert 0 == visit.page.evaluate(beyond)
            assert 4 <= visit.page.locator(".lines .readout b").count()
            assert visit.overflow() <= 0

    def test_a_second_evaluation_is_explained(self, browser, tmp_path):
        """What EVAL 2 is stands beneath the figures that have one, and no others."""
        writer = begin(tmp_path / "run")
        steps = [*["TRAIN", "TRAIN", "EVAL"] * 3, "TRAIN", "TRAIN", "EVAL", "EVAL"]
        for step, mode in enumerate(steps):
            writer.write(make_record(step, {"loss/mse": np.float32(1)}, mode=Mode(mode)))
        writer.close(End("finished", time.time_ns(), len(steps)))
        with served(tmp_path) as url, browser.visit(f"{url}#/run?run=run") as visit:
            visit.wait_for_charts(2)
            said = visit.page.locator('figure:has(.about:visible:has-text("EVAL 2: a second"))')
            assert ["loss/mse"] == [one.get_attribute("aria-label") for one in said.all()]


class TestAway:
    def test_a_run_that_has_not_begun_is_waited_for(self, browser, tmp_path):
        """Its page is opened before its first step, and shows it then."""
        make_run(tmp_path / "other", steps=2)
        with served(tmp_path) as url, browser.visit(f"{url}#/run?run=later") as visit:
            visit.page.get_by_text("Waiting for the run later to begin").wait_for()
            make_run(tmp_path / "later", steps=3)
            visit.page.wait_for_selector(".banner", timeout=PATIENCE_MS)
            assert "3 steps" in visit.page.inner_text(".banner")

    def test_a_lost_server_is_said_with_the_time_of_the_data(self, browser, tmp_path):
        """And what is drawn stays."""
        writer = begin(tmp_path / "live")
        writer.write(make_record(0, make_arrays(0)))
        writer.flush()
        with contextlib.ExitStack() as stack:
            serving = served(tmp_path / "live")
            url = serving.__enter__()
            visit = stack.enter_context(browser.visit(url))
            visit.page.wait_for_selector(".banner")
            visit.wait_for_charts(1)
            serving.__exit__(None, None, None)
            visit.page.get_by_text(
                re.compile(r"connection lost, retrying \(data of \d\d:\d\d:\d\d\)")
            ).wait_for(timeout=PATIENCE_MS)
            assert visit.page.locator(".banner").is_visible()
            assert visit.charts()
        writer.close(End("finished", time.time_ns(), 1))


class TestWorkers:
    def test_replicas_that_part_are_found(self, browser, screenshot, tmp_path):
        """A run of two: what was found comes first, and each has a line of its own."""
        store = open_store(tmp_path / "parted")
        start_run(store, Manifest("parted", 10**18, ("train.py",), num_workers=2))
        for rank in range(2):
            writer = NativeWriter(store, f"worker_{rank}")
            for step in range(20):
                weight = np.random.default_rng(step).normal(size=(4, 3)).astype(np.float32)
                weight[0, 0] += rank * (step >= 6)
                loss = np.float32(1 / (step + 1) + rank * 0.1)
                arrays = {"loss/mse": loss, "fc.weight": weight, "gradient/fc.weight": weight}
                writer.write(make_record(step, arrays, worker=f"worker_{rank}"))
            writer.close(End("finished", 10**18 + 10**10, 20))
        found = Finding("replica_divergence", 6, "fc.weight", "replicas differ", severity="error")
        judge(store, [found])

        with served(tmp_path) as url, browser.visit(f"{url}#/run?run=parted") as visit:
            visit.wait_for_charts(2)
            settled(visit)
            screenshot(visit, "overview-parted")
            is_sound(visit, url)
            said = visit.page.inner_text(".verdict")
            lines = "() => document.querySelector('.plot').stepwatch.lines.map(one => one.worker)"
            names = " ".join(filter(None, visit.page.evaluate(lines)))
        assert "Replicas differ" in said
        assert "fc.weight" in said
        assert "2 workers" in said
        assert "worker_0" in names
        assert "worker_1" in names


class TestVerdict:
    def test_the_first_cause_is_read_first(self, browser, address):
        """Above everything, with what followed beneath it and the way to its tensor."""
        with browser.visit(f"{address}#/run?run={quote('deep/faulty')}") as visit:
            visit.page.wait_for_selector(".banner summary")
            lines = visit.page.inner_text(".verdict").splitlines()
            assert lines[0].startswith("First value that is not finite, step 6")
            assert "first in output of fc" in lines
            visit.page.click(".banner summary")
            assert visit.page.locator(".banner li").is_visible()
            visit.page.click(".banner > p a")
            visit.page.wait_for_selector("h1 code")
            assert "output/fc" == visit.page.inner_text("h1")

    def test_the_headline_comes_before_what_draws_its_figures(self, browser, address):
        """A browser has few connections to a server, and draws nothing while a script runs."""
        drawing = """
            new MutationObserver(() => {
              if (!window.drew && document.querySelector('figure')) window.drew = performance.now();
            }).observe(document, { subtree: true, childList: true });
        """
        with browser.visit(f"{address}#/run?run=healthy", script=drawing) as visit:
            visit.wait_for_charts(1)
            asked = [one.partition("?")[0].rpartition("/")[2] for one in visit.asked]
            assert asked.index("run") < asked.index("evidence.js")
            painted = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
            assert visit.page.evaluate(f"() => {painted} < window.drew")

    def test_what_was_found_is_numbered_in_figures_and_listed_once(self, browser, address):
        """By the title that the headline has, and from where it began."""
        with browser.visit(f"{address}#/run?run={quote('deep/faulty')}") as visit:
            visit.page.wait_for_selector("figure .marks li")
            listed = visit.page.locator("figure").first.locator(".marks li").all_inner_texts()

            assert "First value that is not finite, step 6" in listed
            assert len({*listed}) == len(listed)

    def test_a_layer_whose_last_value_is_not_finite_says_so(self, browser, address):
        """It has no number, and is not blank as one that was never seen."""
        with browser.visit(f"{address}#/tensors?run={quote('deep/faulty')}") as visit:
            row = visit.page.locator("tr[data-row='fc.weight']")
            row.wait_for()
            gradient = row.locator("td[data-label='‖g‖']").inner_text()
            assert "not finite" == gradient.splitlines()[0]
            update = row.locator("td[data-label='update ratio']").inner_text()
            assert "" == update.strip()

    def test_a_traceback_shows_its_end(self, browser, tmp_path):
        """Where the exception is, on both pages that have it."""
        frames = "".join(f'  File "train.py", line {line}, in f\n    f()\n' for line in range(60))
        writer = begin(tmp_path / "run")
        writer.write(make_record(0, make_arrays(0)))
        writer.close(End("failed", time.time_ns(), 1, error="ValueError: no", traceback=frames))
        below = (
            "() => { const one = document.querySelector('.traceback');"
            " return one && one.scrollTop > 0"
            " && one.scrollHeight - one.clientHeight - one.scrollTop; }"
        )
        with served(tmp_path) as url:
            for page in ("run", "last"):
                with browser.visit(f"{url}#/{page}?run=run") as visit:
                    visit.page.wait_for_selector(".traceback")
                    visit.page.wait_for_function(f"() => ({below})() !== false")
                    assert visit.page.evaluate(below) < 2

    def test_rules_that_passed_are_folded(self, browser, tmp_path):
        """It is said how many they are, and each is read when asked for."""
        passed = [status(rule, "NoIssuesFound") for rule in ("loss_spike", "overfit")]
        write_statuses(make_looked_at(tmp_path / "run"), "worker_0", passed)
        with served(tmp_path) as url, browser.visit(f"{url}#/rules?run=run", timeout_s=20) as visit:
            passed = visit.page.locator("details.many", has_text="passed").first
            passed.wait_for()
            row = passed.locator("details").first
            assert not row.is_visible()
            passed.locator("summary").first.click()
            assert row.is_visible()

    def test_names_are_text(self, browser, address):
        """Markup in the name of a tensor and in a finding is shown, not run."""
        run = quote("deep/faulty")
        for page in (f"run?run={run}", f"tensors?run={run}&search=onerror"):
            with browser.visit(f"{address}#/{page}") as visit:
                settled(visit)
                assert EVIL in visit.page.inner_text("main")
                assert 0 == visit.page.locator("img[src=x]").count()
                assert visit.page.title() != "1"
                assert [] == visit.errors
        tensor = f"tensor?run={quote('deep/faulty')}&name={quote(EVIL)}"
        with browser.visit(f"{address}#/{tensor}") as visit:
            visit.wait_for_charts(1)
            assert EVIL == visit.page.inner_text("h1")
            assert [] == visit.errors


class TestHands:
    def test_a_click_on_a_layer_goes_to_its_tensor_at_that_step(self, browser, address):
        """The row says which, the column says when."""
        with browser.visit(f"{address}#/run?run=healthy") as visit:
            visit.wait_for_charts(2)
            visit.page.wait_for_selector(".heat .plot.clicks")
            plot = visit.page.locator(".heat .plot").first
            plot.scroll_into_view_if_needed()
            box = plot.bounding_box()
            plot.click(position={"x": box["width"] * 0.5, "y": 9})
            visit.page.wait_for_url(re.compile("#/tensor"))
            assert "gradient%2Ffc.weight" in visit.page.url
            assert re.search(r"step=\d+", visit.page.url)

    def test_zooming_in_reads_what_lies_there(self, browser, tmp_path):
        """Of 5,000 steps 600 points are drawn; of those between 1,000 and 1,050 all."""
        make_run(tmp_path / "long", steps=5000, tensors=1)
        drawn = "() => document.querySelector('.plot').stepwatch.lines[0].x"
        with served(tmp_path) as url, browser.visit(f"{url}#/run?run=long") as visit:
            page = visit.page
            page.wait_for_selector(".u-over")
            assert set(page.evaluate(drawn)) < set(range(5000))
            over = page.locator(".u-over").first
            box = over.bounding_box()
            page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 20)
            page.mouse.down()
            page.mouse.move(box["x"] + box["width"] * 0.22, box["y"] + 20, steps=4)
            page.mouse.up()
            page.wait_for_url(re.compile(r"x=\d+%3A\d+"))
            first, last = map(int, re.search(r"x=(\d+)%3A(\d+)", page.url).groups())
            assert 900 < first < 1100 < last + 50 < 1250
            page.wait_for_function(f"() => ({drawn})().length === {last - first + 1}")
            assert list(range(first, last + 1)) == page.evaluate(drawn)
            page.get_by_role("button", name="all steps").click()
            page.wait_for_function(f"() => ({drawn})().at(-1) > 4900")
            assert "x=" not in page.url
            assert [] == visit.errors

    def test_a_heat_map_opens_where_something_was_found(self, browser, tmp_path):
        """Its mark leaves the cell to be seen; the whole run is a click away."""
        writer = begin(tmp_path / "run")
        for step in range(400):
            weight = np.ones((4, 3), np.float32)
            weight[0, 0] = np.nan if step == 300 else 1
            arrays = {"loss/mse": np.float32(1), "gradient/fc.weight": weight}
            writer.write(make_record(step, arrays))
        writer.close(End("finished", time.time_ns(), 400))
        found = Finding("exploding_tensor", 300, "gradient/fc.weight", "1 nan", severity="warning")
        judge(open_store(tmp_path / "run"), [found])
        # The colour in the middle of the first row, where a step is.
        drawn = (
            "step => { const plot = document.querySelector('.heat .plot').stepwatch;"
            " const cells = plot.plot.querySelector('canvas');"
            " const [x, y] = plot.placeOf(step, 0);"
            " const ratio = window.devicePixelRatio;"
            " return [...cells.getContext('2d').getImageData(x * ratio, y * ratio, 1, 1).data]; }"
        )
        with served(tmp_path) as url, browser.visit(f"{url}#/run?run=run") as visit:
            page = visit.page
            page.get_by_text("steps 275 to 325").wait_for()
            settled(visit)
            red = page.evaluate(drawn, 300)
            beside = page.evaluate(drawn, 302)
            page.get_by_role("button", name="the whole run").click()
            page.wait_for_url(re.compile("steps=all"))
            page.wait_for_function(
                "() => document.querySelector('.heat .readout').innerText.startsWith('measured')"
            )
            settled(visit)
            assert not page.get_by_role("button", name="the whole run").is_visible()
            assert red == page.evaluate(drawn, 300)
            assert red[0] > 180 > 2 * red[1]
            assert red != beside
            assert [] == visit.errors

    def test_layers_that_do_not_show_what_was_found_say_so(self, browser, tmp_path):
        """As beneath the line of a loss; not once the whole run is shown."""
        make_run(tmp_path / "run", steps=200)
        found = Finding("loss_spike", 100, "loss/mse_loss", "9 is far above 1", "TRAIN")
        judge(open_store(tmp_path / "run"), [found])
        with served(tmp_path) as url, browser.visit(f"{url}#/run?run=run") as visit:
            page = visit.page
            page.get_by_text("what was found is not in these layers").wait_for()
            page.get_by_role("button", name="the whole run").click()
            page.get_by_text("measured at 200 of 200 steps").wait_for()
            assert not page.get_by_text("what was found is not in these layers").is_visible()

    def test_the_crosshair_is_in_every_figure(self, browser, address):
        """Each says its own value at the step under the pointer of another."""
        with browser.visit(f"{address}#/run?run=healthy") as visit:
            page = visit.page
            visit.wait_for_charts(2)
            page.wait_for_selector(".heat .plot.clicks")
            over = page.locator(".u-over").first
            box = over.bounding_box()
            page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20)
            page.wait_for_function(
                "() => [...document.querySelectorAll('.lines .readout')].every("
                "one => /^step \\d/.test(one.textContent))"
            )
            inked = (
                "() => { const over = document.querySelector('.heat canvas.over');"
                " const pen = over.getContext('2d');"
                " return pen.getImageData(0, 0, over.width, over.height).data.some(Boolean); }"
            )
            assert page.evaluate(inked)
            page.evaluate(
                "() => { const one = document.querySelector('.heat .plot').stepwatch;"
                " one.repaint(); }"
            )
            assert page.evaluate(inked), "drawn again, as for each new step"
            page.mouse.move(2, 2)
            page.wait_for_function(f"() => !({inked})()")

    def test_what_is_chosen_is_in_the_address(self, browser, address):
        """Smoothing, scale, axis, filter and pins are there again after a reload."""
        with browser.visit(f"{address}#/run?run=healthy") as visit:
            page = visit.page
            visit.wait_for_charts(2)
            page.get_by_label("what the axes count").select_option("time")
            options = page.get_by_label("what the axes count").locator("option").all_inner_texts()
            assert ["optimizer step", "step, over all modes", "time"] == options
            page.get_by_label("smoothing").fill("0.6")
            page.get_by_label("log", exact=True).check()
            page.get_by_label("pin gradient norm to the top").click(force=True)
            page.wait_for_url(re.compile("pins=gradient"))
            page.reload()
            visit.wait_for_charts(2)
            assert "gradient norm" == visit.charts()[0]["title"]
            assert "time" == page.get_by_label("what the axes count").input_value()
            assert "0.6" == page.get_by_label("smoothing").input_value()
            assert page.get_by_label("log", exact=True).is_checked()
            page.get_by_label("filter figures").fill("loss")
            page.wait_for_function("() => document.querySelectorAll('.grid figure').length === 1")
            assert "figures=loss" in page.url
            assert [] == visit.errors

    def test_the_box_shows_whether_axes_are_logarithmic(self, browser, tmp_path):
        """Also where nobody asked for it; without its tick none is, and the address says so."""
        writer = begin(tmp_path / "run")
        for step in range(60):
            loss = np.float32(10.0 ** (-step / 10))
            arrays = {"loss/mse": loss, "gradient/fc.weight": np.ones(3, np.float32)}
            writer.write(make_record(step, arrays))
        writer.close(End("finished", time.time_ns(), 60))
        pressed = (
            "() => [...document.querySelectorAll('.tool')]"
            ".filter(one => one.innerText === 'log').map(one => one.ariaPressed)"
        )
        with served(tmp_path) as url, browser.visit(f"{url}#/run?run=run") as visit:
            page, box = visit.page, visit.page.get_by_label("log", exact=True)
            visit.wait_for_charts(2)
            assert {"true", "false"} == {*page.evaluate(pressed)}
            assert (False, True) == (box.is_checked(), box.evaluate("one => one.indeterminate"))
            box.click()
            page.wait_for_url(re.compile("log=1"))
            assert {"true"} == {*page.evaluate(pressed)}
            box.click()
            page.wait_for_url(re.compile("log=0"))
            assert {"false"} == {*page.evaluate(pressed)}
            page.reload()
            visit.wait_for_charts(2)
            assert {"false"} == {*page.evaluate(pressed)}
            assert [] == visit.errors

    def test_long_titles_of_figures_keep_their_ends(self, browser, tmp_path):
        """By which losses of one kind are told apart."""
        run = begin(tmp_path / "run")
        names = [f"loss/CrossEntropyLossOfTheDiscriminator_{one}" for one in ("real", "fake")]
        for step in range(3):
            run.write(make_record(step, dict.fromkeys(names, np.float32(1))))
        run.close(End("finished", time.time_ns(), 3))
        with served(tmp_path) as url, browser.visit(f"{url}#/run?run=run") as visit:
            visit.wait_for_charts(2)
            titles = visit.page.locator(".numbers .lines h3")
            shown = [titles.nth(at).locator("span").all() for at in range(2)]

            assert sorted(names) == [titles.nth(at).text_content() for at in range(2)]
            for start, end in shown:
                cut = "one => one.scrollWidth > one.clientWidth"
                assert (True, False) == (start.evaluate(cut), end.evaluate(cut))

    def test_magnitudes_of_elements_are_drawn_over_the_steps(self, browser, tmp_path):
        """Of a weight that shrinks by half at each step: from the top left to the bottom right."""
        run = begin(tmp_path / "run")
        for step in range(12):
            weight = np.full(64, 2.0**-step, np.float32)
            record = make_record(step, {"fc.weight": weight, "loss/mse": np.float32(1)})
            run.write(replace(record, exponents={"fc.weight": count_exponents(weight)}))
        run.close(End("finished", time.time_ns(), 12))
        with (
            served(tmp_path) as url,
            browser.visit(f"{url}#/tensor?run=run&name=fc.weight") as visit,
        ):
            visit.page.wait_for_selector(".heat canvas[aria-label]")
            settled(visit)
            (heat,) = [one for one in visit.charts() if one["title"].startswith("magnitudes")]
            first, middle, last = visit.page.evaluate(_COLORED_ROWS, [0.16, 0.5, 0.97])

            assert heat["width"] > 400
            assert first < middle < last
            assert [] == visit.errors

    @pytest.mark.parametrize("state", ["alive", "stalled"])
    def test_a_run_that_takes_no_step_does_not_look_as_if_it_went_on(
        self, browser, tmp_path, state
    ):
        """Beside its name stands what the headline says, and what to do is said."""
        store = open_store(tmp_path / "run")
        here = (socket.gethostname(), os.getpid(), identity())
        start_run(store, Manifest("made", 1, host=here[0], pid=here[1], process=here[2]))
        writer = NativeWriter(store, "worker_0")
        began_s = 0 if state == "alive" else 3600
        for step in range(3):
            record = make_record(step, {"loss/mse": np.float32(1)})
            time_ns = time.time_ns() - (began_s - step) * 10**9
            writer.write(replace(record, time_ns=time_ns))
        writer.flush()
        with served(tmp_path) as url, browser.visit(f"{url}#/run?run=run") as visit:
            settled(visit)
            shown = visit.page.locator("#head .state")
            headline = visit.page.locator(".banner").inner_text()

            assert ("running" if state == "alive" else "stalled") == shown.inner_text()
            assert ("py-spy dump" in headline) is (state == "stalled")

    @pytest.mark.parametrize("large", [3.0, 3e36])
    def test_axes_are_labelled_however_large_numbers_are(self, browser, tmp_path, large):
        """As after a bit of a weight has flipped."""
        writer = begin(tmp_path / "run")
        for step, loss in enumerate([1.0, 2.0, large, large]):
            writer.write(make_record(step, {"loss/mse": np.float64(loss)}))
        writer.close(End("finished", time.time_ns(), 4))
        written = "() => document.querySelector('.plot').stepwatch.labels?.filter(Boolean)"
        with served(tmp_path) as url, browser.visit(f"{url}#/run?run=run") as visit:
            visit.wait_for_charts(1)
            visit.page.wait_for_function(f"() => ({written})()?.length > 1")

    def test_axes_count_epochs_where_they_are_known(self, browser, tmp_path):
        """Of ten steps in two epochs the last lies at 1.8."""
        writer = begin(tmp_path / "run")
        for step in range(10):
            arrays = {"loss/mse": np.float32(1 + step), "loop/epoch": np.float64(step / 5)}
            writer.write(make_record(step, arrays))
        writer.close(End("finished", time.time_ns(), 10))
        ends = (
            "() => { const { scales } = document.querySelector('.plot').stepwatch;"
            " return [scales.x.min, scales.x.max]; }"
        )
        with served(tmp_path) as url, browser.visit(f"{url}#/run?run=run") as visit:
            page = visit.page
            visit.wait_for_charts(1)
            page.get_by_label("what the axes count").select_option("epoch")
            page.wait_for_url(re.compile("axis=epoch"))
            page.wait_for_function(f"() => Math.abs(({ends})()[1] - 1.8) < 0.01")
            page.get_by_role("img", name="loss/mse, over epoch").wait_for()

    def test_figures_are_saved(self, browser, address):
        """As numbers and as a picture."""
        with browser.visit(f"{address}#/run?run=healthy") as visit:
            page = visit.page
            visit.wait_for_charts(2)
            with page.expect_download() as saved:
                page.get_by_label("save loss/mse as CSV").click(force=True)
            text = Path(saved.value.path()).read_text()
            assert text.startswith("name,mode,worker,step,value,low,high\nloss/mse,TRAIN,,0,1,")
            with page.expect_download() as saved:
                page.get_by_label("save loss/mse as PNG").click(force=True)
            assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")

    def test_everything_is_reached_by_keys(self, browser, address):
        """Slash to search, arrows and enter to open, arrows through steps, escape to go up."""
        with browser.visit(f"{address}#/run?run=healthy") as visit:
            page, keys = visit.page, visit.page.keyboard
            page.wait_for_selector(".banner")
            keys.press("/")
            page.wait_for_selector("input[type=search]")
            page.wait_for_function("() => document.activeElement.type === 'search'")
            keys.type("conv")
            page.wait_for_function("() => document.querySelectorAll('.tree a').length === 1")
            keys.press("ArrowDown")
            keys.press("Enter")
            page.wait_for_selector("[data-before]")
            before = page.inner_text(".line h2")
            keys.press("ArrowLeft")
            page.wait_for_function(
                "before => document.querySelector('.line h2')?.innerText !== before", arg=before
            )
            for there in ("#/tensors", "#/run?", "#/"):
                keys.press("Escape")
                page.wait_for_url(re.compile(re.escape(there)))
            page.wait_for_selector("tbody tr")
            keys.press("ArrowDown")
            assert 1 == page.locator("tr.chosen").count()

    def test_what_is_wrong_is_listed_first(self, browser, address):
        """Unless the address says otherwise."""
        with browser.visit(address) as visit:
            page = visit.page
            page.wait_for_function(
                "() => [...document.querySelectorAll('tbody .state')].every(one => one.innerText)"
                " && document.querySelectorAll('tbody tr').length === 4"
            )
            marks = page.locator("td.health").all_inner_texts()
            assert ["✕", "✕"] == marks[:2]
            assert not {"✕", "!"} & {*marks[2:]}
            page.get_by_role("button", name="run", exact=True).click()
            page.wait_for_url(re.compile("sort=name"))
            page.reload()
            page.wait_for_selector("td.name > a")
            names = page.locator("td.name > a").all_inner_texts()
            assert sorted(names) == names

    def test_the_table_is_filtered_and_sorted(self, browser, address):
        """By what is typed, and by a click on a heading."""
        with browser.visit(address) as visit:
            page = visit.page
            page.wait_for_selector("tbody tr")
            page.get_by_label("filter runs").fill("faulty")
            assert ["deep/faulty"] == page.locator("td.name > a").all_inner_texts()
            page.get_by_label("filter runs").fill("")
            page.get_by_role("button", name="run", exact=True).click()
            names = page.locator("td.name > a").all_inner_texts()
            assert sorted(names) == names


class TestLive:
    def test_steps_come_while_one_looks(self, browser, screenshot, tmp_path):
        """Without a reload; and the run's end as well."""
        writer = begin(tmp_path / "live")
        with served(tmp_path / "live") as address:
            for step in range(5):
                writer.write(make_record(step, make_arrays(step)))
            writer.flush()
            with browser.visit(address) as visit:
                page = visit.page
                page.wait_for_selector(".state.running")
                visit.wait_for_charts(2)
                for step in range(5, 8):
                    writer.write(make_record(step, {"loss/mse": np.float32(step)}))
                    writer.flush()
                    page.get_by_text(f"{step + 1} steps").first.wait_for(timeout=PATIENCE_MS)
                screenshot(visit, "live")
                writer.close(End("finished", time.time_ns(), 8))
                page.wait_for_selector(".state.finished", timeout=PATIENCE_MS)
                last = "() => document.querySelector('.plot').stepwatch.lines[0].y.at(-1)"
                page.wait_for_function(f"() => ({last})() === 7", timeout=PATIENCE_MS)
                is_sound(visit, address)

    def test_without_the_token_nothing_is_shown(self, browser, runs):
        """With it, as the command prints it, everything is, and the address forgets it."""
        with served(runs, "--token", "abc") as address:
            with browser.visit(address) as visit:
                visit.page.wait_for_selector("tbody tr")
                assert "abc" not in visit.page.url
                assert [] == visit.errors
            with browser.visit(address.partition("?")[0]) as visit:
                assert "a token is needed" in visit.page.inner_text("body")
