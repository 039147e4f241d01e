"""The hook for the trainer of Hugging Face Transformers: a callback of it.

With it ``report_to="stepwatch"`` is known to its trainers and those of TRL.
"""

# ruff: noqa: ARG002  a trainer gives all of it to everybody
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from transformers.integrations import integration_utils
from transformers.trainer import Trainer
from transformers.trainer_callback import TrainerCallback

import stepwatch

from ..capture.guard import guarded
from ..model.steps import Mode
from .torch.trainers import TorchTrainerHook

_EVALUATED = "eval_"
# So many examples are looked at for the token that ends each.
_LEAST_EXAMPLES = 32
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
        self._num_cut_off = 0  # examples so far, while all were
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
            self._look_for_ends(*args, **kwargs)
            loss = training_step(*args, **kwargs)
            self._add_loss(loss)
            return loss

        return call

    @guarded
    def _look_for_ends(self, trainer: Any, _: Any = None, inputs: Any = None, *__: Any) -> None:
        """Look whether all examples, of which a later part is learnt, are cut off within that."""
        if 0 <= self._num_cut_off < _LEAST_EXAMPLES:
            labels = inputs.get("labels") if isinstance(inputs, Mapping) else None
            count = num_cut_off(labels, getattr(trainer, "processing_class", None), trainer.args)
            self._num_cut_off = self._num_cut_off + count if count else -1
        if self._num_cut_off >= _LEAST_EXAMPLES and self.torch.captures:
            self.torch.observe("setup/cut_off/labels", "setup", 1.0, Mode.TRAIN)

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


def num_cut_off(labels: Any, tokenizer: Any, arguments: Any) -> int:
    """Return how many examples of a batch are cut off in what is to be learnt of them.

    Args:
        labels: Shape ``[examples, tokens]``, -100 where they do not count, as in a prompt.
        tokenizer: Knows the token that ends an example, and the length it has cut them off at.
        arguments: Those of the trainer, which may cut them off, too.

    Returns:
        All of them; 0 if any begins with what is to be learnt, is shorter, or holds such a token.
    """
    end = getattr(tokenizer, "eos_token_id", None)
    is_known = isinstance(labels, torch.Tensor) and labels.ndim == 2 and labels.is_cpu
    if end is None or not is_known or getattr(arguments, "packing", False):
        return 0
    cuts = getattr(getattr(tokenizer, "backend_tokenizer", None), "truncation", None) or {}
    limits = getattr(arguments, "max_length", None), cuts.get("max_length")
    if labels.shape[1] not in limits:
        return 0
    counts = labels >= 0
    is_cut = (~counts[:, 0] & counts[:, -1]).all() and not (labels == end).any()
    return len(labels) if is_cut else 0


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
