"""Two real trainings, once healthy and once with a planted fault, seen from outside.

Each is an ordinary script, run by ``stepwatch run`` as anybody would. What the rules find is shown
here with a plot, and all of it in one page.

    python demo/run_demo.py [--folder runs/demo]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.rule import Rule as Line

from stepwatch import Finding, Trial
from stepwatch.cli.console import print_finding
from stepwatch.formats.findings import read_findings
from stepwatch.plots import line_plot, series
from stepwatch.report import page_of_figures

HERE = Path(__file__).parent
console = Console(highlight=False)


@dataclass(frozen=True)
class Scene:
    """One training of the demo.

    Args:
        title: What is shown.
        arguments: The script and its arguments.
        expected: The rule that must find something; ``""`` where none may.
        tensor: Drawn beside the loss.
    """

    title: str
    arguments: tuple[str, ...]
    expected: str = ""
    tensor: str = ""

    @property
    def name(self) -> str:
        """A folder for its run."""
        return "-".join(part.removesuffix(".py").strip("-") for part in self.arguments)


SCENES = (
    Scene("A CNN learns to read handwritten digits", ("digits_cnn.py",)),
    Scene(
        "The same with a learning rate 100 times too large",
        ("digits_cnn.py", "--fault", "learning-rate"),
        expected="all_zero",
        tensor="output/features.3",
    ),
    Scene("A small GPT learns to write Python, character by character", ("char_gpt.py",)),
    Scene(
        "The same with a block left out of the optimizer",
        ("char_gpt.py", "--fault", "forgotten-layer"),
        expected="untrained_parameter",
        tensor="blocks.2.mlp.fc.weight",
    ),
)


def main() -> int:
    """Run all scenes; return 0 if each showed what it is there to show."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("runs/demo"))
    folder = parser.parse_args().folder
    began = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    failures: list[str] = []
    figures, everything = [], []
    for scene in SCENES:
        run = folder / scene.name
        if not train(scene, run):
            failures.append(f"{scene.title}: the training failed; see {run.with_suffix('.log')}")
            continue
        trial = Trial(run)
        findings = [Finding.from_json(line) for line in read_findings(trial.store)]
        show(scene, trial, findings)
        rules = {finding.rule for finding in findings}
        if scene.expected not in rules if scene.expected else findings:
            found = ", ".join(sorted(rules)) or "nothing"
            failures.append(f"{scene.title}: {scene.expected or 'nothing'} expected, {found} found")
        figures += draw(scene, trial, findings)
        everything += findings
    report = folder / "report.html"
    report.write_text(
        page_of_figures(figures, title="Stepwatch demo", findings=everything), encoding="utf-8"
    )
    console.print(Line())
    console.print(f"all of it as a page: [bold]{escape(str(report))}[/]")
    console.print(f"look further with:   stepwatch show {escape(str(run))}")
    console.print(f"took {time.monotonic() - began:.0f} s")
    for failure in failures:
        console.print(f"[red]{escape(failure)}[/]")
    return 1 if failures else 0


def train(scene: Scene, run: Path) -> bool:
    """Train one scene under ``stepwatch run``; return whether it ended well."""
    console.print(Line(f"[bold]{escape(scene.title)}[/]", align="left"))
    console.print(f"$ stepwatch run {escape(' '.join(scene.arguments))}", style="dim")
    script, *arguments = scene.arguments
    command = [sys.executable, "-m", "stepwatch", "run", "--run", str(run), str(HERE / script)]
    run.parent.mkdir(parents=True, exist_ok=True)
    # One thread: models as small as these gain nothing from more, and lose much on a busy machine.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with run.with_suffix(".log").open("w+") as log:
        status = subprocess.run(
            [*command, *arguments], stdout=log, env=environment, check=False
        ).returncode
        log.seek(0)
        console.print(escape(log.read().splitlines()[-1] if status == 0 else ""), style="dim")
    return status == 0


def show(scene: Scene, trial: Trial, findings: list[Finding]) -> None:
    """Print the loss and what was found."""
    loss = trial.tensor_names(collection="losses")[0]
    plot(trial, loss, "mean", findings)
    for finding in findings:
        print_finding(console, finding, trial.workers)
    if scene.tensor:
        about = [finding for finding in findings if finding.tensor == scene.tensor]
        plot(trial, scene.tensor, "rms", about)
    if not findings:
        console.print("[green]no findings[/]")


def plot(trial: Trial, name: str, statistic: str, findings: list[Finding]) -> None:
    """Draw one statistic in the terminal."""
    one = trial.tensor(name).statistics("TRAIN")
    encoding = sys.stdout.encoding or "ascii"
    console.print(
        line_plot(
            one.steps,
            one[statistic],
            name=name,
            statistic=statistic,
            findings=findings,
            height=7,
            encoding=encoding,
        )
    )


def draw(scene: Scene, trial: Trial, findings: list[Finding]) -> list[object]:
    """Return the figures of a scene for the page."""
    figures = []
    wanted = [(name, "mean", findings) for name in trial.tensor_names(collection="losses")]
    if scene.tensor:
        wanted.append((scene.tensor, "rms", findings))
    for name, statistic, marks in wanted:
        one = trial.tensor(name).statistics()
        figures.append(
            series(
                one.steps,
                one[statistic],
                name=f"{scene.title}: {name}",
                statistic=statistic,
                modes=one.modes,
                findings=marks,
            )
        )
    return figures


if __name__ == "__main__":
    sys.exit(main())
