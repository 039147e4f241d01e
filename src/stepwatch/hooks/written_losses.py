"""Losses that a script writes out, where its code shows that a difference has the wrong sign."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ..model.record import TensorInfo
from .data_helpers import Watching
from .script import is_script, main_script, script_tree

_LARGEST = 1 << 18
# What people call predictions, and what they are compared with; a name of both is a prediction.
_PREDICTION = re.compile(
    r"(.*_)?(pred(s|icted|ictions?)?|y_?hat|yhat|q_?hat|hat|out|outputs?|forecasts?|estimates?)(_.*)?",
    re.IGNORECASE,
)
_TARGET = re.compile(
    r"(.*_)?(y|ys|yb|yt|y_?true|true|targets?|tgt|labels?|actuals?|obs(erved)?|truth|gt)(_.*)?",
    re.IGNORECASE,
)
_LARGER, _WHERE = ("maximum", "max", "fmax"), ("where", "select")


class WrittenLosses(Watching):
    """Reads the losses of the script that runs, and reports each that is turned once."""

    def begin(self) -> None:
        """Nothing is replaced: the script is read when it is asked for."""

    def found(self) -> Iterator[tuple[TensorInfo, Any]]:
        self._found.update(f"turned_quantile/{one}" for one in turned_quantiles(main_script()))
        return super().found()


@lru_cache(maxsize=4)
def turned_quantiles(file: str) -> tuple[str, ...]:
    """Return the functions of a script whose pinball loss is that of the opposite quantile.

    The loss of the quantile q is max(q e, (q - 1) e) with e the target less the prediction (Koenker
    and Bassett: Regression quantiles, 1978). With e the prediction less the target it is that of
    the quantile 1 - q.

    Args:
        file: Its path.
    """
    tree = script_tree(file, _LARGEST) if is_script(file) else None
    reader = _Reader()
    if tree is not None:
        reader.visit(tree)
    return tuple(dict.fromkeys(reader.found))


class _Reader(ast.NodeVisitor):
    """Goes through code; notes the functions in which a loss is turned."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._class, self._function = "", "the script"
        # By name, whether the difference that a variable holds is that of a turned loss.
        self._is_turned: dict[str, bool] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        around = self._function, self._is_turned
        self._function, self._is_turned = self._class or node.name, dict(self._is_turned)
        self.generic_visit(node)
        self._function, self._is_turned = around

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        around, self._class = self._class, node.name
        self.generic_visit(node)
        self._class = around

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._is_turned[target.id] = _is_prediction_less_target(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        error = _error_of(node)
        if isinstance(error, ast.Name):
            turned = self._is_turned.get(error.id, False)
        else:
            turned = error is not None and _is_prediction_less_target(error)
        if turned:
            self.found.append(self._function)


def _error_of(node: ast.Call) -> ast.expr | None:
    """Return e of ``maximum(q * e, (q - 1) * e)``, or of the same by ``where(e > 0, ...)``."""
    name = _name(node.func)
    if name in _LARGER and len(node.args) == 2:
        parts = node.args
    elif name in _WHERE and len(node.args) == 3:
        parts = node.args[1:]
    else:
        return None
    for one, other in (parts, parts[::-1]):
        for share, error in _factors(one):
            for less, same in _factors(other):
                if _are_alike(error, same) and _is_one_less(less, share):
                    return error
    return None


def _factors(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield node.left, node.right
        yield node.right, node.left


def _is_one_less(node: ast.expr, share: ast.expr) -> bool:
    """Return whether this is ``share - 1``."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)):
        return False
    is_one = isinstance(node.right, ast.Constant) and node.right.value == 1
    return is_one and _are_alike(node.left, share)


def _are_alike(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)


def _is_prediction_less_target(node: ast.expr) -> bool:
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)):
        return False
    left, right = _name(node.left), _name(node.right)
    is_target = bool(_TARGET.fullmatch(right)) and not _PREDICTION.fullmatch(right)
    return is_target and bool(_PREDICTION.fullmatch(left))


def _name(node: ast.expr) -> str:
    """Return what something is called: of parts and results of methods, what they are of."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            break
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
