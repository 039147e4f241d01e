"""What to save of a tensor instead of its full value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stepwatch.errors import ConfigError
from stepwatch.formats.smdebug.collections import REDUCTIONS, Reduction, Stored, in_order

from ..exceptions import SMDebugValueError
from .json_config import JsonSettings

ALLOWED_NORMS = ["l1", "l2"]
ALLOWED_REDUCTIONS = [name for name in REDUCTIONS if name not in ALLOWED_NORMS]


class ReductionConfig(JsonSettings):
    """What to save of a tensor instead of its full value, or besides.

    Norms are over all elements. They may be called ``l1`` or ``l1_norm``, and stand among the
    reductions as well.

    Args:
        reductions: Some of min, max, mean, std, variance, sum, prod and median.
        abs_reductions: The same ones, of the magnitudes of the elements.
        norms: Some of l1 and l2.
        abs_norms: The same ones, of the magnitudes.
        save_raw_tensor: Save the full value too.
        save_shape: Save the shape too.

    Raises:
        SMDebugValueError: An invalid value.
    """

    def __init__(
        self,
        reductions: Sequence[str] | None = None,
        abs_reductions: Sequence[str] | None = None,
        norms: Sequence[str] | None = None,
        abs_norms: Sequence[str] | None = None,
        save_raw_tensor: bool = False,
        save_shape: bool = False,
    ) -> None:
        self.reductions, plain_norms = _names("reductions", reductions)
        self.abs_reductions, norms_of_abs = _names("abs_reductions", abs_reductions)
        self.norms = [*plain_norms, *_names("norms", norms, norms_only=True)[1]]
        self.abs_norms = [*norms_of_abs, *_names("abs_norms", abs_norms, norms_only=True)[1]]
        self.save_raw_tensor = save_raw_tensor
        self.save_shape = save_shape
        for name in ("save_raw_tensor", "save_shape"):
            if not isinstance(getattr(self, name), bool):
                raise SMDebugValueError(f"{name} must be a bool, got {getattr(self, name)!r}")

    @classmethod
    def from_dict(cls, params: Mapping[str, Any] | None) -> ReductionConfig | None:
        """Return what ``to_json_dict`` made; ``None`` gives ``None``.

        Reductions may be a list or a text with commas, flags may be texts.
        """
        if params is None:
            return None
        given = params.get("reductions") or ""
        names = given.split(",") if isinstance(given, str) else given
        try:
            parsed = [Reduction.parse(name) for name in names if name.strip()]
        except ConfigError as error:
            raise SMDebugValueError(str(error)) from None
        flags = {name: _flag(name, params.get(name, False)) for name in _FLAGS}
        return cls.from_stored(Stored(flags["save_raw_tensor"], tuple(parsed), flags["save_shape"]))

    @classmethod
    def from_stored(cls, stored: Stored) -> ReductionConfig:
        """Return the configuration that stores this."""
        groups: dict[tuple[bool, bool], list[str]] = {}
        for one in stored.reductions:
            groups.setdefault((one.of_abs, one.is_norm), []).append(one.name)
        return cls(
            groups.get((False, False)),
            groups.get((True, False)),
            groups.get((False, True)),
            groups.get((True, True)),
            save_raw_tensor=stored.raw,
            save_shape=stored.shape,
        )

    def to_stored(self) -> Stored:
        """Return what is stored.

        Raises:
            SMDebugValueError: It was changed to an invalid value.
        """
        try:
            plain = [Reduction.parse(name) for name in (*self.reductions, *self.norms)]
            of_abs = [Reduction.parse(f"abs_{n}") for n in (*self.abs_reductions, *self.abs_norms)]
        except ConfigError as error:
            raise SMDebugValueError(str(error)) from None
        return Stored(self.save_raw_tensor, in_order([*plain, *of_abs]), self.save_shape)

    def to_json_dict(self) -> dict[str, Any]:
        names = [
            *self.reductions,
            *(f"{name}_norm" for name in self.norms),
            *(f"abs_{name}" for name in self.abs_reductions),
            *(f"abs_{name}_norm" for name in self.abs_norms),
        ]
        return {
            "save_raw_tensor": self.save_raw_tensor,
            "reductions": ",".join(names),
            "save_shape": self.save_shape,
        }

    def __repr__(self) -> str:
        return f"<class ReductionConfig: {self.to_json_dict()}>"


_FLAGS = ("save_raw_tensor", "save_shape")
_TRUTH = {"true": True, "false": False}


def _flag(name: str, value: object) -> bool:
    known = _TRUTH.get(str(value).lower())
    if known is None:
        raise SMDebugValueError(f"{name} must be true or false, got {value!r}")
    return known


def _names(
    argument: str, names: Sequence[str] | None, *, norms_only: bool = False
) -> tuple[list[str], list[str]]:
    """Return the reductions and the norms among names that may be either."""
    if isinstance(names, str):
        raise SMDebugValueError(f"{argument} must be a list of names, got {names!r}")
    plain: list[str] = []
    norms: list[str] = []
    for name in names or ():
        if name in _NORM_NAMES:
            norms.append(name.removesuffix("_norm"))
        elif name in ALLOWED_REDUCTIONS and not norms_only:
            plain.append(name)
        else:
            known = "l1 and l2" if norms_only else f"{', '.join(ALLOWED_REDUCTIONS)}, l1 and l2"
            raise SMDebugValueError(f"{argument} can be {known}, got {name!r}")
    return plain, norms


_NORM_NAMES = ("l1", "l2", "l1_norm", "l2_norm")
