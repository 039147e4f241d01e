"""``stepwatch diff RUN_A RUN_B``: where two runs part, and what with."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from ..diff.align import Pair, TwoRuns
from ..diff.divergence import Search, beyond_noise, beyond_rounding, beyond_tolerance
from ..diff.explain import Difference, other_settings, stage_of
from ..diff.result import DiffResult, divergence_details, divergence_summary, not_compared
from ..errors import ConfigError
from ..plots.terminal import line_plot
from ..store import open_store
from ..store.proxy import MeteredStore
from ..trial import Trial
from .console import console, print_hanging, print_json, table, working
from .run_names import RUN, RunVerb

DIFFERENT_STATUS = 1
_MOST_ULP = 4096
_MOST_ROWS = 10


@click.command(cls=RunVerb)
@click.argument("run_a", type=RUN)
@click.argument("run_b", type=RUN)
@click.option("--noise", help="A run that is equal to RUN_A; how far they are apart is noise.")
@click.option("--rtol", type=click.FloatRange(min=0), help="Take so small a fraction for nothing.")
@click.option("--atol", type=click.FloatRange(min=0), help="And so much for each element.")
@click.option("--ignore", multiple=True, help="Leave out tensors by name; a regular expression.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diff(
    run_a: str,
    run_b: str,
    *,
    noise: str | None,
    rtol: float | None,
    atol: float | None,
    ignore: tuple[str, ...],
    as_json: bool,
) -> int:
    """Say where RUN_A and RUN_B part: the first step and tensor.

    The exit status is 0 where they are the same, or near enough as asked, 1 where they are not, 2
    for an error.
    """
    tolerant = rtol is not None or atol is not None
    if noise and tolerant:
        raise ConfigError("--noise says how far apart runs may be; leave out --rtol and --atol")
    stores = [MeteredStore(open_store(run)) for run in (run_a, run_b)]
    here, there = (Trial(store) for store in stores)
    search = Search(TwoRuns(here, there, ignore))
    with working("comparing"):
        result = DiffResult(search, search.first_divergence())
        if noise:
            equal = Search(TwoRuns(here, Trial(noise), ignore))
            apart = equal.first_divergence()
            result.noise_run = noise
            result.noise_divergence = equal.runs.pair(apart.index) if apart else None
            result.judge("noise", beyond_noise(search.of_kind, equal.band(apart)))
        elif tolerant:
            result.judge("tolerance", beyond_tolerance(rtol or 0.0, atol or 0.0))
        else:
            result.judge("rounding", beyond_rounding(search.of_kind))
    if as_json:
        print_json(_as_json(result, stores))
    else:
        _show(result)
    return 0 if result.same else DIFFERENT_STATUS


def _show(result: DiffResult) -> None:
    output = console()
    settings = other_settings(result.runs.here, result.runs.there)
    if settings:
        rows = [(one.what, one.here or "-", one.there or "-") for one in settings]
        output.print(table(("setting", "A", "B"), rows))
        output.print()
    print_hanging(output, "", divergence_summary(result), "bold")
    for line in divergence_details(result):
        print_hanging(output, "  ", line)
    if result.divergence:
        output.print()
        output.print(_table(result.differences(most=_MOST_ROWS)))
        output.print()
        _plot(result)
    for line in not_compared(result):
        print_hanging(output, "not compared: ", line, "dim")


def _table(found: list[Difference]) -> object:
    several = len({one.worker for one in found}) > 1
    # As of rounding; of anything larger the relative difference tells more.
    has_small = any(one.found.ulp is not None and one.found.ulp <= _MOST_ULP for one in found)
    rows = [
        (
            f"{one.found.name} of {one.worker}" if several else one.found.name,
            stage_of(one.collection).name,
            " ".join((one.found.by, one.found.at)).strip(),
            f"{one.found.recorded:.9g}",
            f"{one.found.replayed:.9g}",
            f"{one.absolute:.3g}",
            f"{one.found.relative:.3g}",
            *(["" if one.found.ulp is None else f"{one.found.ulp:.3g}"] if has_small else []),
        )
        for one in found
    ]
    names = ("tensor", "stage", "by", "A", "B", "|A - B|", "relative")
    return table((*names, "ulp") if has_small else names, rows)


def _plot(result: DiffResult) -> None:
    steps, relative = result.curve()
    if len(steps) > 1:
        encoding = sys.stdout.encoding or "ascii"
        what = "relative difference"
        console().print(
            line_plot(steps, relative, name=result.followed, statistic=what, encoding=encoding)
        )


def _as_json(result: DiffResult, stores: list[MeteredStore]) -> dict[str, object]:
    runs, divergence, beyond = result.runs, result.divergence, result.beyond
    found = result.differences(most=None)
    causes = [asdict(cause) for cause in result.causes()]
    steps, relative = result.curve()
    return {
        "runs": [runs.here.url, runs.there.url],
        "same": result.same,
        "verdict": divergence_summary(result),
        "parted": _pair(runs.pair(divergence.index)) if divergence else None,
        "before": _pair(runs.pair(divergence.index - 1))
        if divergence and divergence.index
        else None,
        "causes": causes,
        "differences": [_difference(one) for one in found],
        "bound": result.bound,
        "beyond": _pair(runs.pair(beyond.index)) if beyond else None,
        "noise": {
            "run": result.noise_run,
            "parted": result.noise_divergence and _pair(result.noise_divergence),
        },
        "curve": {
            "tensor": result.followed,
            "steps": steps,
            "relative": [float(value) for value in relative],
        },
        "in_common": {
            "steps": len(runs),
            "tensors": len(runs.tensors),
            "workers": runs.workers,
        },
        "only_a": asdict(runs.only_here),
        "only_b": asdict(runs.only_there),
        "not_compared": not_compared(result),
        "settings": [
            {"what": one.what, "a": one.here, "b": one.there}
            for one in other_settings(runs.here, runs.there)
        ],
        "read": {
            "times": sum(one.num_read for one in result.search.blocks.chunks),
            "bytes": sum(store.bytes_read for store in stores),
            "bytes_stored": sum(store.bytes_stored for store in stores),
        },
    }


def _pair(pair: Pair) -> dict[str, object]:
    return {
        "mode": str(pair.mode),
        "mode_step": pair.mode_step,
        "step_a": pair.here,
        "step_b": pair.there,
    }


def _difference(one: Difference) -> dict[str, object]:
    found = one.found
    return {
        "tensor": found.name,
        "worker": one.worker,
        "collection": one.collection,
        "stage": stage_of(one.collection).name,
        "by": found.by,
        "at": found.at,
        "a": float(found.recorded),
        "b": float(found.replayed),
        "difference": float(one.absolute),
        "relative": float(found.relative),
        "ulp": found.ulp if found.ulp is None else float(found.ulp),
    }
