"""Reports in a real browser: drawn, readable in both schemes and on phones, asking for nothing."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from stepwatch.formats.findings import write_findings, write_statuses
from stepwatch.judge.engine import RuleStatus
from stepwatch.model.finding import Finding
from stepwatch.report import report, report_page
from stepwatch.report.document import Chart
from stepwatch.trial import Trial
from tests.browser.chromium import DESKTOP, PHONE
from tests.support.report.boosted_runs import boosted_run
from tests.support.report.profiled_runs import profiled_run

np = pytest.importorskip("numpy")
pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

EVIL = "<img src=x onerror=\"document.title='owned'\">"
GPUS = (("gpu0", 85.0), ("gpu1", 78.0), ("gpu2", 4.0), ("gpu3", 60.0))


def run_report():
    """A profiled run that something was found in."""
    trial = profiled_run("memory://browser-run", steps=300, slow=range(150, 160), gpus=GPUS)
    findings = [
        Finding(
            "non_finite_origin",
            150,
            "gradient/layer0.weight",
            "3 of 12 elements are nan, the first at step 150",
            remedy="look at the batch of this step",
            severity="error",
            mode="TRAIN",
        ),
        Finding("loss_spike", 160, "loss/mse_loss", "9.2 is far above 1.1", mode="TRAIN"),
        Finding(EVIL, 170, EVIL, EVIL, remedy=EVIL),
    ]
    statuses = [
        RuleStatus("non_finite_origin", "IssuesFound", 300, 1, "3 of 12 elements are nan"),
        RuleStatus("loss_spike", "IssuesFound", 300, 1, "9.2 is far above 1.1"),
        RuleStatus("overfit", "NotEvaluated", 0, 0, "no EVAL loss was there"),
        RuleStatus("training_mode", "NoIssuesFound", 300, 0, "300 evaluations"),
    ]
    write_findings(trial.store, "worker_0", [one.to_json() for one in findings])
    write_statuses(trial.store, "worker_0", [asdict(one) for one in statuses])
    return report(Trial(trial.store))


def profiler_report():
    """Four GPUs, of which one waits, and slow steps."""
    trial = profiled_run(
        "memory://browser-profile", steps=400, slow=range(200, 230), gpus=GPUS, core=96.0
    )
    return report(trial, "profiler", ["low_gpu_utilization:patience=10", "step_outlier"])


def xgboost_report():
    """Three classes, of which two are told apart."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 600)
    steps = []
    for step in range(12):
        scores = random.random((600, 3)) + 0.2 * step * np.eye(3)[np.where(labels == 2, 1, labels)]
        steps.append(
            {
                "train-mlogloss": np.float64(1 / (step + 1)),
                "validation-mlogloss": np.float64(1.2 / (step + 1) + 0.02 * step),
                "label/validation": labels,
                "prediction/validation": scores,
                **{
                    f"feature_importance/{kind}/{name}": np.float64(share)
                    for kind in ("weight", "gain", "cover")
                    for name, share in (("income", 0.5), ("age", 0.3), (EVIL, 0.2))
                },
            }
        )
    return report(boosted_run("memory://browser-xgb", steps, objective="multi:softprob"))


REPORTS = {"run": run_report, "profiler": profiler_report, "xgboost": xgboost_report}


@pytest.fixture(scope="module", params=REPORTS)
def page(request, tmp_path_factory):
    """A kind of report, its file, and how many charts it has."""
    made = REPORTS[request.param]()
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(report_page(made), encoding="utf-8")
    blocks = [block for section in made.sections for block in section.blocks]
    return request.param, path, sum(isinstance(block, Chart) for block in blocks)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_everything_is_drawn_and_nothing_is_fetched(browser, screenshot, page, size, scheme):
    """Each chart has its size, nothing is wider than the window, no error is told."""
    name, path, count = page
    with browser.visit(path, size=size, scheme=scheme) as visit:
        screenshot(visit, f"{name}-{size[0]}-{scheme}")

        assert [] == visit.errors
        assert [path.as_uri()] == visit.asked
        assert "owned" != visit.page.title()
        assert 0 == visit.overflow()
        ground = {"light": "rgb(246, 247, 249)", "dark": "rgb(14, 17, 22)"}[scheme]
        assert ground == visit.color()
        figures = visit.page.locator("figure svg")
        assert count == figures.count()
        for figure in visit.page.locator("figure .plot").all():
            box = figure.bounding_box()
            assert 240 < box["width"] <= size[0]
            assert box["height"] > 60


def test_figures_and_tables_can_be_read_on_a_phone(browser, page):
    """Their text keeps its size; what is wider than the window is moved within its box."""
    _, path, _ = page
    sizes = (
        "() => [...document.querySelectorAll('.plot svg text')]"
        ".map(one => one.getBoundingClientRect().height)"
    )
    cut = (
        "() => [...document.querySelectorAll('.plot, table')]"
        ".map(one => one.closest('.plot, .wide'))"
        ".filter(one => one.scrollWidth > one.clientWidth"
        " && getComputedStyle(one).overflowX !== 'auto').length"
    )
    with browser.visit(path, size=PHONE) as visit:
        assert 9 <= min(visit.page.evaluate(sizes))
        assert 0 == visit.page.evaluate(cut)


class TestWhatReadersDo:
    def test_the_scheme_may_change_while_it_is_read(self, browser, page):
        """Charts have the ink of the other one."""
        _, path, _ = page
        with browser.visit(path) as visit:
            before = visit.color("figure svg text", "fill")
            visit.page.emulate_media(color_scheme="dark")
            visit.page.wait_for_function(
                "before => getComputedStyle(document.querySelector('figure svg text')).fill"
                " !== before",
                arg=before,
            )

            assert [] == visit.errors

    def test_it_prints(self, browser, page):
        """On paper it is light, whatever the reader prefers, and has no links at its top."""
        _, path, _ = page
        with browser.visit(path, scheme="dark") as visit:
            visit.page.emulate_media(media="print")
            shown = visit.page.evaluate(
                "() => [...document.querySelectorAll('nav')].filter(n => n.offsetHeight).length"
            )
            pdf = visit.page.pdf()

            assert 0 == shown
            assert pdf.startswith(b"%PDF")
            assert "rgb(28, 36, 48)" == visit.color("h1", "color")

    def test_links_lead_to_sections(self, browser, page):
        """A click on the contents goes there, within the page."""
        _, path, _ = page
        with browser.visit(path) as visit:
            link = visit.page.locator("nav a:visible").last
            target = link.get_attribute("href")
            link.click()

            box = visit.page.locator(target).bounding_box()
            assert 0 <= box["y"] < DESKTOP[1]
            assert [path.as_uri()] == visit.asked
