"""The hook for PyTorch Lightning, under either of its names: a callback of its trainer."""

# ruff: noqa: ARG002  a trainer gives all of it to everybody
from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from torch.utils.data import DataLoader, IterableDataset, SequentialSampler

from ..capture.guard import guarded
from ..model.steps import Mode
from .torch.trainers import TorchTrainerHook

if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback, LightningModule, Trainer
    from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
else:
    from lightning.pytorch import Callback, LightningModule, Trainer
    from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint


class LightningHook(TorchTrainerHook, Callback):  # type: ignore[misc]  # it may not be installed
    """Captures what happens in a training by ``lightning.pytorch.Trainer``.

    Args:
        run: Directory or URL to write to, which must not hold a run yet.
        options: Those of ``TorchHook``.

    Example:
        ``Trainer(callbacks=[LightningHook(run="runs/first")])``; the run is closed when Python
        ends, or by ``close()``.
    """

    framework: ClassVar[str] = Trainer.__module__.split(".")[0]
    trainer: ClassVar[type] = Trainer

    def __init__(self, run: Any, **options: Any) -> None:
        self._trains: Any = None
        self._logged: dict[str, Any] = {}
        # Batches of this training so far, while for none of them a loss was returned to train on.
        self._num_without_loss: int | None = None
        # The part of its data that the last training was asked to take, and when it began.
        self._part: _Part | None = None
        self._first_epoch = 0
        super().__init__(run, **options)

    # A trainer may be copied, or sent to a process that it spawns, which has no hook.

    def __deepcopy__(self, memo: object) -> LightningHook:
        return self

    def __reduce__(self) -> tuple[type[Callback], tuple[()]]:
        return Callback, ()

    def add_to(self, trainer: Any) -> None:
        """Add this to the callbacks of a trainer that was just made."""
        if self not in trainer.callbacks:
            trainer.callbacks.append(self)

    def request_stop(self) -> bool:
        """Set ``Trainer.should_stop``; return whether a trainer trains."""
        if self._trains is None:
            return False
        self._trains.should_stop = True
        return True

    # Called by the trainer

    @guarded
    def on_train_start(self, trainer: Any, pl_module: LightningModule) -> None:
        self._trains = trainer
        self.begins()
        self._num_without_loss = 0 if pl_module.automatic_optimization else None
        self._part, self._first_epoch = _part_of_data(trainer), trainer.current_epoch
        for name, sign in _monitors(trainer):
            self.torch.observe(f"setup/monitor/{name}", "setup", sign, Mode.TRAIN)

    @guarded
    def on_train_batch_start(self, trainer: Any, pl_module: LightningModule, *_: Any) -> None:
        """A batch is about to be trained on: a callback may have changed how many make a step."""
        self.torch.accumulates(trainer.accumulate_grad_batches)

    @guarded
    def on_train_batch_end(
        self, trainer: Any, pl_module: LightningModule, outputs: Any = None, *_: Any
    ) -> None:
        """A batch is over: save what was logged; of several in one step it is merged."""
        if self._num_without_loss is not None:
            self._count_without_loss(outputs)
        self.save_metrics({"epoch": trainer.current_epoch, **self._new(trainer)}, Mode.TRAIN)

    @guarded
    def on_train_end(self, trainer: Any, pl_module: LightningModule) -> None:
        self.ends()
        if self._part is not None:
            epochs = trainer.current_epoch - self._first_epoch
            self._part = self._part._replace(num_epochs=epochs)
        self._trains = None

    @guarded
    def on_sanity_check_start(self, trainer: Any, pl_module: LightningModule) -> None:
        """A few batches are evaluated to see whether that works: they say nothing."""
        self.torch.pause()

    @guarded
    def on_sanity_check_end(self, trainer: Any, pl_module: LightningModule) -> None:
        self.torch.resume()
        self._new(trainer)

    @guarded
    def on_validation_start(self, trainer: Any, pl_module: LightningModule) -> None:
        """The model is evaluated from here on."""
        self.torch.set_mode(Mode.EVAL)

    @guarded
    def on_validation_end(self, trainer: Any, pl_module: LightningModule) -> None:
        if not trainer.sanity_checking:
            self.save_metrics(self._new(trainer), Mode.EVAL)
        self.torch.set_mode(self._mode)

    on_test_end = on_validation_end

    @guarded
    def on_test_start(self, trainer: Any, pl_module: LightningModule) -> None:
        """The model is evaluated from here on, by what it was not chosen by."""
        self.torch.set_mode(Mode.EVAL)
        self._tell_part(trainer.test_dataloaders, Mode.EVAL)

    @guarded
    def on_predict_start(self, trainer: Any, pl_module: LightningModule) -> None:
        """The model is used from here on."""
        self.torch.set_mode(Mode.PREDICT)
        self._tell_part(trainer.predict_dataloaders, Mode.PREDICT)

    @guarded
    def on_predict_end(self, trainer: Any, pl_module: LightningModule) -> None:
        self.torch.set_mode(self._mode)

    def _tell_part(self, loaders: Any, mode: Mode) -> None:
        """Observe on which part of its data a model was trained that is given other data now."""
        part = self._part
        if part is None or not part.num_epochs or not self.torch.captures:
            return
        given = loaders if isinstance(loaders, list) else [loaders]
        if any(id(getattr(one, "dataset", None)) == part.dataset for one in given):
            return  # to see what was learnt of it
        self._part = None  # it is told once
        for name in ("num_batches", "num_all", "num_epochs"):
            title = f"evaluation/part_of_data/{part.option}/{name}"
            self.torch.observe(title, "evaluations", float(getattr(part, name)), mode)

    def _count_without_loss(self, outputs: Any) -> None:
        """Observe for how many batches ``training_step`` returned nothing, up to the first loss.

        An empty mapping is what Lightning makes of that; of a batch that is skipped it has none.
        """
        if not isinstance(outputs, Mapping):
            return
        self._num_without_loss = None if outputs else (self._num_without_loss or 0) + 1
        if self._num_without_loss and self.torch.captures and self.torch.has_begun:
            self.torch.observe(
                "loop/batches_without_loss", "loop", self._num_without_loss, Mode.TRAIN
            )

    def _new(self, trainer: Any) -> dict[str, Any]:
        """Return what was logged since the last time: the trainer keeps the last of each.

        These are tensors, of which the device is not asked here.
        """
        if not self.torch.captures:
            self._logged = {}
            return {}
        metrics = trainer.callback_metrics
        before, self._logged = self._logged, dict(metrics)
        return {name: value for name, value in metrics.items() if before.get(name) is not value}


class _Part(NamedTuple):
    """A part of its data that a trainer was asked to take for all, the same in each epoch.

    Args:
        option: By which argument of the trainer.
        num_batches: How many batches it takes.
        num_all: How many there are.
        dataset: The ``id`` of the data.
        num_epochs: How often it took them; 0 while it trains.
    """

    option: str
    num_batches: int
    num_all: int
    dataset: int
    num_epochs: int = 0


def _part_of_data(trainer: Any) -> _Part | None:
    """Return the part that a trainer takes; ``None`` for all, and for another one in each epoch."""
    loader = trainer.train_dataloader
    if not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset):
        return None
    if trainer.fast_dev_run or not isinstance(loader.sampler, SequentialSampler):
        return None
    option = "overfit_batches" if trainer.overfit_batches > 0 else "limit_train_batches"
    used, num_all = trainer.num_training_batches, len(loader)
    if not 0 < used < num_all:
        return None
    return _Part(option, int(used), num_all, id(loader.dataset))


def _monitors(trainer: Any) -> Iterator[tuple[str, float]]:
    """Yield the callbacks that monitor something: the name, and -1 where less is better."""
    for callback in trainer.callbacks:
        monitor = getattr(callback, "monitor", None)
        sign = {"min": -1.0, "max": 1.0}.get(getattr(callback, "mode", ""))
        chooses = not isinstance(callback, ModelCheckpoint) or callback.save_top_k > 0
        if isinstance(callback, (EarlyStopping, ModelCheckpoint)) and monitor and sign and chooses:
            yield f"{type(callback).__name__}/{monitor}", sign
