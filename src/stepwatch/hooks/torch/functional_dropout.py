"""Calls of ``F.dropout`` in a class that leave it on, whatever mode the module is in.

Unlike ``nn.Dropout``, the function knows no module: its argument ``training`` is True unless
another is given. Who means it, as for Monte Carlo dropout, says ``training=True``.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress

import torch.nn.functional as F  # noqa: N812

from ..script import is_script

_DROPOUTS = (
    *(F.dropout, F.dropout1d, F.dropout2d, F.dropout3d),
    *(F.alpha_dropout, F.feature_alpha_dropout),
)
#: As many arguments by place as have ``training`` among them.
_WITH_TRAINING = 3
_MODE = "training"


def leaves_dropout_on(kind: type) -> bool:
    """Return whether a class of a script calls ``F.dropout`` without saying in which mode.

    False also where its code cannot be read.
    """
    module = sys.modules.get(kind.__module__)
    if not is_script(str(getattr(module, "__file__", None) or "<none>")):
        return False
    with suppress(OSError, TypeError, SyntaxError, ValueError):
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
        return any(_is_left_on(call, vars(module)) for call in _unconditional_calls(tree))
    return False


def _unconditional_calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls that no condition on the mode is around."""
    if isinstance(node, (ast.If, ast.IfExp)) and _MODE in ast.unparse(node.test):
        return
    if isinstance(node, ast.Call):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _unconditional_calls(child)


def _is_left_on(call: ast.Call, names: dict[str, object]) -> bool:
    if not any(_value(call.func, names) is one for one in _DROPOUTS):
        return False
    unpacks = any(isinstance(one, ast.Starred) for one in call.args)
    if unpacks or len(call.args) >= _WITH_TRAINING or any(not one.arg for one in call.keywords):
        return False
    share = next((one.value for one in call.keywords if one.arg == "p"), None)
    share = call.args[1] if len(call.args) > 1 else share
    is_none = isinstance(share, ast.Constant) and not share.value
    return not is_none and _MODE not in ast.unparse(call)


def _value(node: ast.expr, names: dict[str, object]) -> object:
    """Return what a name, or an attribute of one, stands for in a module; ``None`` if unknown."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, names), node.attr, None)
    return None
