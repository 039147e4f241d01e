"""The plug-in of pytest: a training is a test, which fails where rules find something.

pytest loads this wherever Stepwatch is installed; everything else is imported when a test asks
for it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..judge.verdict import Verdict

_SEVERITIES = ("info", "warning", "error")
_MARKER = (
    "training(rules=..., severity='warning', ignore=()): watch what the test trains, and fail it "
    "where rules find something"
)


class TrainingFailed(AssertionError):
    """Rules found something in a training that was to be healthy.

    Args:
        verdict: What they found.
        message: The causes, for people.
    """

    def __init__(self, verdict: Verdict, message: str) -> None:
        super().__init__(message)
        self.verdict = verdict


@contextmanager
def _watched(run: Path) -> Iterator[None]:
    """Hook all frameworks that are imported, and write what they train to ``run``."""
    from ..plugins import registry

    first: Any = None
    for name in registry.names("stepwatch.hooks"):
        if name in sys.modules:
            make: Any = registry.load("stepwatch.hooks", name)
            at = run if first is None else first.recorder
            hook = make(run=at, say=_say_nothing, budget=None, black_box_mb=0)
            first = first or hook
    if first is None:
        known = ", ".join(registry.names("stepwatch.hooks"))
        pytest.fail(f"nothing that trains was imported before the test; there are {known}")
    try:
        yield
    finally:
        first.close()


def _say_nothing(line: str) -> None:
    del line


def _judge(run: Path, rules: Sequence[str] | str | None) -> Verdict:
    from ..judge.evaluate import evaluate
    from ..judge.parameters import rule_specs
    from ..rules import DEFAULT_RULES
    from ..trial import Trial

    given = (rules,) if isinstance(rules, str) else tuple(rules or ())
    return evaluate(Trial(run), rule_specs(given, DEFAULT_RULES))


def _check(verdict: Verdict, run: Path, severity: str, ignore: Sequence[str]) -> None:
    """Raise for causes that are severe enough, and for a training in which nothing was judged."""
    __tracebackhide__ = True
    if severity not in _SEVERITIES:
        raise ValueError(f"severity must be one of {', '.join(_SEVERITIES)}, got {severity!r}")
    least = _SEVERITIES.index(severity)
    causes = [
        chain.cause
        for chain in verdict.chains
        if chain.cause.rule not in ignore and _SEVERITIES.index(chain.cause.severity) >= least
    ]
    if causes:
        lines = [text for one in causes for text in (one.headline(), f"    {one.remedy}")]
        found = "\n".join(line for line in lines if line.strip())
        raise TrainingFailed(verdict, f"{found}\nlook at it with: stepwatch show {run}")
    if verdict.headline.outcome == "not judged":
        raise TrainingFailed(verdict, "nothing was trained that a rule could judge")


class Healthy:
    """Trains some steps and fails where rules find something; what the fixture ``healthy`` gives.

    Args:
        folder: Where to write.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def __call__(
        self,
        step_fn: Callable[..., object],
        steps: int = 50,
        *,
        rules: Sequence[str] | str | None = None,
        severity: str = "warning",
        ignore: Sequence[str] = (),
    ) -> Verdict:
        """Call ``step_fn`` so many times, watched, and return the verdict.

        Args:
            step_fn: Trains one step; it is given the number of the step if it takes an argument.
            steps: How many. Of fewer than some hundred, rules with a warm-up judge nothing.
            rules: As for ``stepwatch run --rules``; the default set by default.
            severity: The least that fails: ``info``, ``warning`` or ``error``.
            ignore: Rules that may find something.

        Raises:
            TrainingFailed: A rule found something, or none could judge.
        """
        __tracebackhide__ = True
        run = self._folder / f"training-{self._count}"
        self._count += 1
        takes_step = bool(inspect.signature(step_fn).parameters)
        with _watched(run):
            for step in range(steps):
                step_fn(step) if takes_step else step_fn()
        verdict = _judge(run, rules)
        _check(verdict, run, severity, ignore)
        return verdict


@pytest.fixture
def healthy(tmp_path: Path) -> Healthy:
    """Return what trains some steps and fails if they are ill, ``healthy(step_fn, steps=50)``."""
    return Healthy(tmp_path / "stepwatch")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Watch what a test with the marker ``training`` trains."""
    __tracebackhide__ = True
    marker = pyfuncitem.get_closest_marker("training")
    if marker is None:
        return (yield)
    options = dict(marker.kwargs)
    rules, severity = options.pop("rules", None), options.pop("severity", "warning")
    ignore = options.pop("ignore", ())
    if options or marker.args:
        raise TypeError(f"the marker is {_MARKER.partition(':')[0]}; got {marker}")
    run = pyfuncitem.config._tmp_path_factory.mktemp("stepwatch") / "run"  # type: ignore[attr-defined]
    try:
        with _watched(run):
            result = yield
    except Exception:
        try:  # what was found may be why; the failure is that of the test
            _check(_judge(run, rules), run, severity, ignore)
        except TrainingFailed as found:
            pyfuncitem.add_report_section("call", "stepwatch", str(found))
        raise
    _check(_judge(run, rules), run, severity, ignore)
    return result
