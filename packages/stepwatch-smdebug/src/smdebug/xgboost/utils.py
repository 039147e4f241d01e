"""Data of XGBoost in files, and the trees of a model."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from importlib.metadata import version
from itertools import islice
from typing import Any

import numpy.typing as npt
import xgboost

from stepwatch.hooks.xgboost import XGBoostModel, read_config
from stepwatch_smdebug.hooks.xgboost import tree_columns

from ..exceptions import SMDebugError

CSV = "csv"
LIBSVM = "libsvm"

_LIBSVM_TYPES = ("libsvm", "text/libsvm", "text/x-libsvm")
_CSV_TYPES = ("csv", "text/csv")
_LINES_TRIED = 1000


def get_content_type(content_type_cfg_val: str | None) -> str:
    """Return ``csv`` or ``libsvm`` for what names one of them; ``libsvm`` for ``None``.

    Raises:
        SMDebugError: It names neither.
    """
    name = (content_type_cfg_val or LIBSVM).lower()
    if name not in (*_LIBSVM_TYPES, *_CSV_TYPES):
        known = ", ".join((*_CSV_TYPES, *_LIBSVM_TYPES))
        raise SMDebugError(f"{content_type_cfg_val!r} is no type of content; there are {known}")
    return LIBSVM if name in _LIBSVM_TYPES else CSV


def validate_data_file_path(data_path: str, content_type: str | None) -> None:
    """Raise unless the first lines of each file in a folder, or of one, have a format.

    Raises:
        SMDebugError: Of some file they have not, or there is no file.
    """
    kind = get_content_type(content_type)
    if not os.path.exists(data_path):
        raise SMDebugError(f"{data_path} is not there")
    for path in _data_files(data_path):
        with open(path, errors="ignore", encoding="utf-8") as file:
            lines = [line for line in islice(file, _LINES_TRIED) if line.strip()]
        if kind == LIBSVM:
            wrong = next((line for line in lines if not _is_libsvm(line)), None)
        else:
            _delimiter(lines[0] if lines else "")
            wrong = next((line for line in lines[:1] if ":" in line and _is_libsvm(line)), None)
        if wrong is not None:
            raise SMDebugError(f"the line {wrong[:50]!r} of {path} is not of the format {kind}")


def get_dmatrix(data_path: str, content_type: str, csv_weights: int = 0) -> Any:
    """Return an ``xgboost.DMatrix`` of a file, or of a folder with files; ``None`` for neither.

    Args:
        data_path: The file or folder.
        content_type: ``csv``, with the label in its first column, or ``libsvm``.
        csv_weights: 1 where the second column holds weights.

    Raises:
        SMDebugError: It cannot be read, or has no labels.
    """
    if not os.path.exists(data_path):
        return None
    kind = get_content_type(content_type)
    options = "label_column=0" + ("&weight_column=1" if csv_weights == 1 else "")
    try:
        query = f"format=csv&{options}" if kind == CSV else "format=libsvm"
        matrix = xgboost.DMatrix(f"{data_path}?{query}")
    except Exception as error:  # whatever XGBoost finds wrong with them
        raise SMDebugError(f"{data_path} cannot be read as {kind}: {error}") from error
    if not matrix.get_label().size:
        raise SMDebugError(f"{data_path} has no labels")
    return matrix


def parse_tree_model(booster: Any, iteration: int, fmap: str = "") -> dict[str, npt.NDArray[Any]]:
    """Return the nodes of a tree of a model, one row for each, by column.

    Args:
        booster: An ``xgboost.Booster``.
        iteration: The number of the tree, from 0.
        fmap: Has no effect.
    """
    del fmap
    rounds = booster.num_boosted_rounds()
    trees_a_round = max(1, len(booster.get_dump()) // max(1, rounds))
    of_round = iteration // trees_a_round
    # It takes a booster as it is while this round trains.
    model = XGBoostModel(booster[: of_round + 1], None, of_round, read_config(booster))
    columns = dict(tree_columns(model))
    of_tree = columns["Tree"] == iteration
    return {name: values[of_tree] for name, values in columns.items()}


def is_xgb_1_3_and_later() -> bool:
    """Return whether this is XGBoost 1.3 or later."""
    return _version() >= (1, 3)


def is_xgb_1_5_and_later() -> bool:
    """Return whether this is XGBoost 1.5 or later."""
    return _version() >= (1, 5)


def is_xgb_1_7_and_later() -> bool:
    """Return whether this is XGBoost 1.7 or later."""
    return _version() >= (1, 7)


def _version() -> tuple[int, ...]:
    return tuple(int(part) for part in version("xgboost").split(".")[:2])


def _data_files(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
        return
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names if not name.startswith((".", "_")))


def _delimiter(line: str) -> str:
    try:
        return csv.Sniffer().sniff(line[:1024]).delimiter
    except csv.Error as error:
        raise SMDebugError(f"what separates the columns of {line[:50]!r}? {error}") from None


def _is_libsvm(line: str) -> bool:
    """Return whether a line is a label and ``index:value`` of features, with blanks between."""
    label, *features = line.split()
    try:
        for part in label.split(":"):
            float(part)
        for feature in features:
            index, value = feature.split(":")
            int(index), float(value)
    except ValueError:
        return False
    return label.count(":") <= 1
