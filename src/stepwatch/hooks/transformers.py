"""The hook for the trainer of Hugging Face Transformers: a callback of it.

With it ``report_to="stepwatch"`` is known to its trainers and those of TRL.
"""

# ruff: noqa: ARG002  a trainer gives all of it to everybody
from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from transformers.integrations import integration_utils
from transformers.trainer import Trainer
from transformers.trainer_callback import TrainerCallback

import stepwatch

from ..capture.guard import guarded
from ..model.steps import Mode
from .torch.trainers import TorchTrainerHook

_EVALUATED = "eval_"
# The hooks that are attached, the last one last.
_attached: list[TransformersHook] = []


class TransformersHook(TorchTrainerHook, TrainerCallback):  # type: ignore[misc]  # not installed
    """Captures what happens in a training by ``transformers.Trainer``.

    Args:
        run: Directory or URL to write to, which must not hold a run yet.
        options: Those of ``TorchHook``.

    Example:
        ``Trainer(model, arguments, callbacks=[TransformersHook(run="runs/first")])``; the run is
        closed when Python ends, or by ``close()``.
    """

    framework: ClassVar[str] = "transformers"
    trainer: ClassVar[type] = Trainer

    def __init__(self, run: Any, **options: Any) -> None:
        self._control: Any = None
        self._loss: Any = None
        super().__init__(run, **options)

    def add_to(self, trainer: Any) -> None:
        """Add this to the callbacks of a trainer that was just made."""
        if self not in trainer.callback_handler.callbacks:
            trainer.add_callback(self)

    def request_stop(self) -> bool:
        """Have the training stopped at the end of its step; return whether there is one."""
        return self._control is not None

    def attach(self) -> None:
        """Take hold of torch, of the trainer, and of the loss that it computes."""
        if not self.active:
            super().attach()
            self.replaced.put(Trainer, "training_step", self._with_loss)
            _attached.append(self)

    def _leave_trainer(self) -> None:
        super()._leave_trainer()
        _attached[:] = [one for one in _attached if one is not self]

    def _with_loss(self, training_step: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            loss = training_step(*args, **kwargs)
            self._add_loss(loss)
            return loss

        return call

    @guarded
    def _add_loss(self, loss: Any) -> None:
        self._loss = loss if self._loss is None else self._loss + loss

    # Called by the trainer

    @guarded
    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """All batches of a step were seen: the trainer adds up what they cost."""
        loss, self._loss = self._loss, None
        if loss is not None and self.torch.captures:
            self.torch.observe("loss/Trainer", "losses", loss)

    @guarded
    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._control = control
        self.torch.accumulates(args.gradient_accumulation_steps)
        self.begins()
        if args.metric_for_best_model and args.greater_is_better is not None:
            name = f"setup/monitor/TrainingArguments/{args.metric_for_best_model}"
            sign = 1.0 if args.greater_is_better else -1.0
            self.torch.observe(name, "setup", sign, Mode.TRAIN)

    @guarded
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """A step is over, its optimizer has stepped."""
        if self._stopped is not None:
            control.should_training_stop = True
        self.save_metrics({"epoch": state.epoch}, Mode.TRAIN)

    @guarded
    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Something is logged: the mean loss of some steps, or what an evaluation gave."""
        for mode in (Mode.TRAIN, Mode.EVAL):
            is_eval = mode is Mode.EVAL
            chosen = {name: value for name, value in (logs or {}).items() if name != "epoch"}
            self.save_metrics(
                {n: v for n, v in chosen.items() if n.startswith(_EVALUATED) is is_eval}, mode
            )

    @guarded
    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.ends()
        self._control = None


class Reported(TrainerCallback):  # type: ignore[misc]  # not installed
    """What ``report_to="stepwatch"`` makes: the hook of the run that is under way.

    Without one a run begins, as by ``stepwatch.init()``; it ends with Python, or by
    ``stepwatch.finish()``.
    """

    def __new__(cls) -> Any:
        if not _attached:
            stepwatch.init()
        # where capturing could not begin, a callback that does nothing
        return _attached[-1] if _attached else super().__new__(cls)


integration_utils.INTEGRATION_TO_CALLBACK.setdefault("stepwatch", Reported)
