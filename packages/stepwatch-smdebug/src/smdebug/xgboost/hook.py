"""smdebug's hook for XGBoost."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import xgboost
from xgboost.callback import TrainingCallback

from stepwatch_smdebug.config.frameworks import framework
from stepwatch_smdebug.hooks.xgboost import SmdebugXGBoostHook

from ..core.hook import BaseHook
from ..core.hook_config import SaveConfigs
from ..core.reduction_config import ReductionConfig
from ..core.save_config import SaveConfig

__all__ = ["Hook"]

#: An ``xgboost.DMatrix``, or the path of a file and its format, ``csv`` or ``libsvm``.
Data = Any


class Hook(BaseHook, TrainingCallback):  # type: ignore[misc]  # xgboost has no types
    """Saves tensors of a training with XGBoost; it is handed over among the callbacks.

    Each round is a step.

    Args:
        out_dir: As of ``BaseHook``, like all that is not named here.
        reduction_config: Ignored with a warning: values are saved in full.
        save_config: When to save by default; each 10th round without it.
        hyperparameters: Saved as they are.
        train_data: What SHAP values are computed of.
        validation_data: What labels and predictions are of.
    """

    framework = "xgboost"
    _registered: SmdebugXGBoostHook

    def __init__(
        self,
        out_dir: str | os.PathLike[str] | None = None,
        export_tensorboard: bool = False,
        tensorboard_dir: str | os.PathLike[str] | None = None,
        dry_run: bool = False,
        reduction_config: ReductionConfig | None = None,
        save_config: SaveConfigs | None = None,
        include_regex: Sequence[str] | str | None = None,
        include_collections: Sequence[Any] | None = None,
        save_all: bool = False,
        include_workers: str = "one",
        hyperparameters: Mapping[str, object] | None = None,
        train_data: Data = None,
        validation_data: Data = None,
    ) -> None:
        self.hyperparameters = hyperparameters
        self.train_data = _as_matrix(train_data)
        self.validation_data = _as_matrix(validation_data)
        interval = framework(self.framework).interval
        super().__init__(
            out_dir,
            export_tensorboard,
            tensorboard_dir,
            dry_run,
            None,
            SaveConfig(save_interval=interval) if save_config is None else save_config,
            include_regex,
            include_collections,
            save_all,
            include_workers,
        )
        if reduction_config is not None:
            self.logger.warning("reductions are not saved of XGBoost; values are saved in full")

    def _make_registered(self) -> SmdebugXGBoostHook:
        return SmdebugXGBoostHook(
            self._hook_config,
            hyperparameters=self.hyperparameters,
            train_data=self.train_data,
            validation_data=self.validation_data,
            numbers=self._resumed(),
            before_step=self._before_step,
            stores_at_once=True,
        )

    def after_iteration(
        self, model: Any, epoch: int, evals_log: Mapping[str, Mapping[str, Sequence[Any]]]
    ) -> bool:
        """A round is over; return False, for the training goes on."""
        del epoch
        self._registered.save_round(model, evals_log)
        return False


def _as_matrix(data: Data) -> Any:
    if isinstance(data, tuple):
        path, file_format = data
        label = "&label_column=0" if file_format == "csv" else ""
        return xgboost.DMatrix(f"{os.fspath(path)}?format={file_format}{label}")
    return data
