"""What people do without us, in the same process: histograms for TensorBoard, and checkpoints."""

from __future__ import annotations

from pathlib import Path

import torch
from torch.utils.tensorboard import SummaryWriter
from ways import Plain, Way, Written

EVERY = 10


class Rival(Plain):
    """Does something with all weights and gradients every tenth step, right after it."""

    num_steps = 0

    def after_step(self) -> None:
        if self.num_steps % EVERY == 0:
            self.save(self.num_steps)
        self.num_steps += 1

    def save(self, step: int) -> None:
        """Save weights and gradients of a step."""
        raise NotImplementedError


class Histograms(Rival):
    """``SummaryWriter.add_histogram`` of each."""

    def __init__(self, kind: str, folder: Path, *, compiled: bool = False) -> None:
        super().__init__(kind, folder, compiled=compiled)
        self._board = SummaryWriter(str(folder))

    def save(self, step: int) -> None:
        for name, parameter in self.model.named_parameters():
            self._board.add_histogram(name, parameter, step)
            self._board.add_histogram(f"gradient/{name}", parameter.grad, step)

    def close(self) -> Written:
        self._board.close()
        return super().close()


class Checkpoints(Rival):
    """``torch.save`` of all in one file."""

    def save(self, step: int) -> None:
        self.folder.mkdir(exist_ok=True)
        named = dict(self.model.named_parameters())
        gradients = {name: parameter.grad for name, parameter in named.items()}
        weights = {name: parameter.detach() for name, parameter in named.items()}
        torch.save({"weights": weights, "gradients": gradients}, self.folder / f"{step}.pt")


RIVALS: dict[str, Way] = {
    "add-histogram-10": Way(Histograms, EVERY),
    "torch-save-10": Way(Checkpoints, EVERY),
}
