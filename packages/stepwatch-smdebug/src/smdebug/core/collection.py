"""A named set of tensors, when to save them, and what of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from stepwatch.formats.smdebug.collections import SCALAR_COLLECTIONS
from stepwatch_smdebug.config.frameworks import framework

from ..exceptions import SMDebugTypeError, SMDebugValueError
from .json_config import JsonSettings
from .modes import ModeKeys
from .reduction_config import ReductionConfig
from .save_config import SaveConfig, SaveConfigMode

__all__ = ["SCALAR_COLLECTIONS", "Collection", "CollectionKeys"]


class CollectionKeys:
    """Names of collections that a hook fills by itself."""

    DEFAULT = "default"
    ALL = "all"
    INPUTS = "inputs"
    OUTPUTS = "outputs"
    WEIGHTS = "weights"
    GRADIENTS = "gradients"
    LOSSES = "losses"
    BIASES = "biases"
    LAYERS = "layers"
    SM_METRICS = "sm_metrics"
    OPTIMIZER_VARIABLES = "optimizer_variables"
    TENSORFLOW_SUMMARIES = "tensorflow_summaries"
    METRICS = "metrics"
    HYPERPARAMETERS = "hyperparameters"
    PREDICTIONS = "predictions"
    LABELS = "labels"
    FEATURE_IMPORTANCE = "feature_importance"
    AVERAGE_SHAP = "average_shap"
    FULL_SHAP = "full_shap"
    TREES = "trees"


SUMMARIES_COLLECTIONS = {CollectionKeys.TENSORFLOW_SUMMARIES}
SM_METRIC_COLLECTIONS = {CollectionKeys.LOSSES, CollectionKeys.METRICS, CollectionKeys.SM_METRICS}
# Of these there is nothing to reduce, and nothing to count.
NON_REDUCTION_COLLECTIONS = SUMMARIES_COLLECTIONS | set(SCALAR_COLLECTIONS)
NON_HISTOGRAM_COLLECTIONS = NON_REDUCTION_COLLECTIONS
DEFAULT_PYTORCH_COLLECTIONS = set(framework("pytorch").collections)
DEFAULT_MXNET_COLLECTIONS = set(framework("mxnet").collections)
DEFAULT_TF_COLLECTIONS = set(framework("tensorflow").collections) - SUMMARIES_COLLECTIONS
DEFAULT_XGBOOST_COLLECTIONS = set(framework("xgboost").collections) - SM_METRIC_COLLECTIONS


class Collection(JsonSettings):
    """A named set of tensors, when to save them, and what of them.

    Args:
        name: Its name.
        include_regex: Regular expressions; a tensor whose name one of them finds belongs.
        tensor_names: Names that belong besides.
        reduction_config: What to save; the hook's by default.
        save_config: When to save; the hook's by default, also for modes it leaves out.
        save_histogram: Whether TensorBoard gets histograms.

    Raises:
        SMDebugTypeError: An argument of the wrong type.
    """

    def __init__(
        self,
        name: str,
        include_regex: str | list[str] | None = None,
        tensor_names: Sequence[str] | AbstractSet[str] | None = None,
        reduction_config: ReductionConfig | None = None,
        save_config: SaveConfig | Mapping[ModeKeys, SaveConfigMode | None] | None = None,
        save_histogram: bool = True,
    ) -> None:
        self.name = name
        self.include_regex: list[str] = []
        self.include(include_regex or [])
        self.tensor_names = tensor_names
        self.reduction_config = reduction_config
        self.save_config = save_config
        self.save_histogram = save_histogram

    @property
    def tensor_names(self) -> set[str]:
        """Names of tensors that belong whatever the patterns say."""
        return self._tensor_names

    @tensor_names.setter
    def tensor_names(self, tensor_names: Sequence[str] | AbstractSet[str] | None) -> None:
        if isinstance(tensor_names, str) or not isinstance(
            tensor_names, Sequence | AbstractSet | None
        ):
            raise SMDebugTypeError(f"tensor_names is a list or a set, got {tensor_names!r}")
        self._tensor_names = set(tensor_names or ())

    @property
    def reduction_config(self) -> ReductionConfig | None:
        """What to save; ``None`` to inherit the hook's."""
        return self._reduction_config

    @reduction_config.setter
    def reduction_config(self, reduction_config: ReductionConfig | None) -> None:
        if not isinstance(reduction_config, ReductionConfig | None):
            raise SMDebugTypeError(
                f"reduction_config is a ReductionConfig, got {reduction_config!r}"
            )
        self._reduction_config = reduction_config

    @property
    def save_config(self) -> SaveConfig | None:
        """When to save; ``None`` to inherit the hook's."""
        return self._save_config

    @save_config.setter
    def save_config(
        self, save_config: SaveConfig | Mapping[ModeKeys, SaveConfigMode | None] | None
    ) -> None:
        if isinstance(save_config, Mapping):
            save_config = SaveConfig(save_config)
        if not isinstance(save_config, SaveConfig | None):
            raise SMDebugTypeError(
                f"save_config is a SaveConfig or a dict of modes to SaveConfigMode, got "
                f"{save_config!r}"
            )
        self._save_config = save_config

    def include(self, t: str | Sequence[str]) -> None:
        """Add a regular expression, or several."""
        if isinstance(t, str):
            self.include_regex.append(t)
        elif isinstance(t, Sequence):
            for one in t:
                self.include(one)
        else:
            raise SMDebugTypeError(f"include takes a regular expression or a list, got {t!r}")

    def has_tensor_name(self, tname: str) -> bool:
        """Return whether a tensor was added by this name."""
        return tname in self._tensor_names

    def add_tensor_name(self, tname: str) -> None:
        """Add a tensor by its name."""
        self._tensor_names.add(tname)

    def remove_tensor_name(self, tname: str) -> None:
        """Take out a tensor that was added by its name, if it was."""
        self._tensor_names.discard(tname)

    def to_json_dict(self) -> dict[str, Any]:
        reductions, steps = self.reduction_config, self.save_config
        is_unset = steps is None or steps.is_unset
        return {
            "name": self.name,
            "include_regex": self.include_regex,
            "tensor_names": sorted(self.tensor_names),
            "reduction_config": None if reductions is None else reductions.to_json_dict(),
            "save_config": None if steps is None or is_unset else steps.to_json_dict(),
            "save_histogram": self.save_histogram,
        }

    @classmethod
    def from_dict(cls, params: Mapping[str, Any]) -> Collection:
        if not isinstance(params, Mapping):
            raise SMDebugValueError(f"a collection is read from a dict, got {params!r}")
        return cls(
            params["name"],
            params.get("include_regex") or [],
            params.get("tensor_names"),
            ReductionConfig.from_dict(params.get("reduction_config")),
            SaveConfig.from_dict(params.get("save_config")),
            params.get("save_histogram", True),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Collection):
            return NotImplemented
        pending = [one.save_config.pending if one.save_config else {} for one in (self, other)]
        return self.to_json_dict() == other.to_json_dict() and pending[0] == pending[1]

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return str(self.to_json_dict())

    def __repr__(self) -> str:
        return f"<class Collection: name={self.name}>"
