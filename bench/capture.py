"""What capturing costs a training step.

In one process and interleaved, step by step: without us, with the statistics of everything at
every step, and with raw weights and gradients every tenth step as well. Each way has a model of
its own from the same seed. Printed are the median step and the ratio to the model without us,
twice: the median over the rounds, and that of the totals, which alone shows what is paid on one
step in ten.

    python bench/capture.py [--steps N]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "demo"))
from char_gpt import CHARACTERS, GPT, load_text, sample_batch

from stepwatch.hooks.torch import TorchHook
from stepwatch.statistics import has_kernel

BATCH, BLOCK, WIDTH, LAYERS = 8, 128, 256, 6
POLICIES = {
    "statistics every step": None,
    "and raw weights, gradients every 10": ["weights:raw:every=10", "gradients:raw:every=10"],
}


class Training:
    """A model of its own, trained one step at a time.

    Args:
        text: Token ids, shape ``[n]``.
        vocabulary: How many different tokens.
    """

    def __init__(self, text: torch.Tensor, vocabulary: int) -> None:
        torch.manual_seed(0)
        self.text = text
        self.model = GPT(vocabulary, block=BLOCK, d_model=WIDTH, layers=LAYERS, heads=8)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4)
        self.generator = torch.Generator().manual_seed(1)

    def step(self) -> float:
        """Train one step and return how many seconds it took."""
        inputs, targets = sample_batch(self.text, BATCH, BLOCK, self.generator)
        begin = time.perf_counter()
        _, loss = self.model(inputs, targets)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return time.perf_counter() - begin


class Watched(Training):
    """The same, watched; the hook is there only while this model trains.

    Args:
        run: Where to write.
        policy: What to save.
    """

    def __init__(
        self, text: torch.Tensor, vocabulary: int, run: Path, policy: list[str] | None
    ) -> None:
        super().__init__(text, vocabulary)
        self.run = run
        self.hook = TorchHook(self.model, run=run, policy=policy, say=lambda _: None, strict=True)
        self.hook.detach()

    def step(self) -> float:
        self.hook.attach()
        try:
            return super().step()
        finally:
            self.hook.detach()


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60, help="timed steps of each way")
    parser.add_argument("--warm-up", type=int, default=5, help="steps before, not timed")
    arguments = parser.parse_args()
    text, _ = load_text()
    vocabulary = len(CHARACTERS)
    folder = Path(tempfile.mkdtemp(prefix="stepwatch-bench-"))
    ways: dict[str, Training] = {"without us": Training(text, vocabulary)}
    for number, (name, policy) in enumerate(POLICIES.items()):
        ways[name] = Watched(text, vocabulary, folder / str(number), policy)
    for _ in range(arguments.warm_up):
        for training in ways.values():
            training.step()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    names = list(ways)
    for number in range(arguments.steps):
        # Another order each time, so that none always follows the same.
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            seconds[name].append(ways[name].step())
    report(ways, seconds)
    shutil.rmtree(folder)


def report(ways: dict[str, Training], seconds: dict[str, list[float]]) -> None:
    """Print seconds per step, ratios, and what was written."""
    model = ways["without us"].model
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(
        f"GPT d={WIDTH}, {LAYERS} layers, batch {BATCH}x{BLOCK}, {parameters / 1e6:.1f} M "
        f"parameters; torch {torch.__version__} on {torch.get_num_threads()} threads"
        f"; compiled kernel: {'yes' if has_kernel() else 'no'}"
    )
    plain = seconds["without us"]
    for name, training in ways.items():
        times = seconds[name]
        # Each step against the step of the same round, so that a slow moment hits both.
        ratio = statistics.median(a / b for a, b in zip(times, plain, strict=True))
        totals = sum(times) / sum(plain)
        line = f"{name:38s} {statistics.median(times):8.4f} s/step   x {ratio:.3f} (x {totals:.3f})"
        if isinstance(training, Watched):
            end = training.hook.close()
            size = sum(path.stat().st_size for path in training.run.rglob("*") if path.is_file())
            line += f"   {end.steps} steps, {end.dropped} dropped, {size / 1e6:.1f} MB"
        print(line)


if __name__ == "__main__":
    main()
