"""What capturing costs a training step, beside what others take for the same work.

Three models, eager and compiled, are trained in several ways in one process, in turns, step by
step: without a tool, watched by us, and as people do without us. The real smdebug does the same in
its own environment, if ``make treaty`` made it, and is compared with plain training there. Then
each way trains alone in a process, for its memory and its work in the background.
``bench/README.md`` says what the columns mean.

    python bench/capture.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from itertools import product
from pathlib import Path

from models import KINDS, let_all_compile
from processes import SMDEBUG, find_smdebug
from scenes import Bench
from ways import NONE, OURS, Way

from report import machine, recompiled, rows_of, table

MODES = ("eager", "compiled")


def main() -> None:
    """Measure what the arguments ask for and print the table."""
    arguments = parse_arguments()
    let_all_compile()
    with tempfile.TemporaryDirectory(prefix="stepwatch-bench-", dir=arguments.folder) as folder:
        bench = Bench(Path(folder), ways_of(arguments), smdebug_of(arguments), arguments.turn)
        try:
            measure(bench, arguments)
        except KeyboardInterrupt:
            bench.say("")
            print("broken off; what was measured until then:")
    bench.say("")
    print("\n".join(table(bench.scenes, bench.rate)), flush=True)
    if arguments.json:
        rows = [vars(row) for scene in bench.scenes for row in rows_of(scene)]
        rate = bench.rate and vars(bench.rate)
        found = {"machine": machine(), "rows": rows, "write_rate": rate}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    if wrong := recompiled(bench.scenes):
        sys.exit(f"not to be trusted, the compiler ran in timed steps: {', '.join(wrong)}")


def measure(bench: Bench, arguments: argparse.Namespace) -> None:
    """Measure scene by scene, then memory, then how fast full values are written."""
    steps = arguments.steps or (20 if arguments.quick else 50)
    scenes = product(arguments.models, arguments.modes)
    for kind, mode in [("gpt", "eager"), ("mlp", "compiled")] if arguments.quick else scenes:
        bench.time(kind, mode, steps * KINDS[kind].rush)
        if mode == "eager" and not arguments.quick:
            bench.take_footprints()
    bench.take_write_rate()


def ways_of(arguments: argparse.Namespace) -> dict[str, Way]:
    """Return the ways that are timed in this process."""
    ways = dict(OURS)
    if rivals_of(arguments):
        from rivals import RIVALS  # here: without rivals, no TensorBoard is needed

        ways |= RIVALS
    chosen = arguments.ways
    return {name: way for name, way in ways.items() if not chosen or name in (NONE, *chosen)}


def smdebug_of(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the ways of the real smdebug, each with its interpreter; empty where it is not."""
    python = find_smdebug()
    if not rivals_of(arguments):
        return {}
    if python is None:
        print("there is no environment with the real smdebug; to make it: make treaty")
        return {}
    return {way: python for way in SMDEBUG if not arguments.ways or way in arguments.ways}


def rivals_of(arguments: argparse.Namespace) -> bool:
    return bool(arguments.rivals and not arguments.quick)


def parse_arguments() -> argparse.Namespace:
    """Read the command line.

    Lists are separated by commas. An unknown name ends the program with those that there are.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, help="timed steps; ten times as many of the MLP")
    parser.add_argument("--models", type=a_list, default=list(KINDS), help=", ".join(KINDS))
    parser.add_argument("--modes", type=a_list, default=list(MODES), help=", ".join(MODES))
    known = [*OURS, "add-histogram-10", "torch-save-10", *SMDEBUG]
    parser.add_argument("--ways", type=a_list, help=", ".join(known))
    parser.add_argument("--rivals", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--turn", type=int, default=1, help="steps of a way in a row")
    parser.add_argument("--folder", help="where to write; the system's temporary one by default")
    parser.add_argument("--json", type=Path, help="write what was measured here as well")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="the GPT, eager, and the MLP, compiled, 20 steps; no rivals, no memory",
    )
    arguments = parser.parse_args()
    for given, names in (
        (arguments.models, list(KINDS)),
        (arguments.modes, list(MODES)),
        (arguments.ways or [], known),
    ):
        for name in given:
            if name not in names:
                parser.error(f"there is no {name!r}; there are {', '.join(names)}")
    return arguments


def a_list(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    main()
