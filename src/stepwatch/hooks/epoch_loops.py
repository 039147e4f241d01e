"""Whether a script does something in each epoch, by the loops that lead to it.

What is made once for each fold, task or client may be made anew on purpose, and what is made in a
loop over epochs goes on from one to the next. Only the script tells which loop it is.
"""

from __future__ import annotations

import ast
import re

from .script import first_line, script_frames, script_tree

#: In so many epochs in a row an optimizer is made anew.
LEAST_REMADE = 3
# What people call what a loop over epochs counts, and how many there are.
_COUNTED = re.compile(r"_?e|_?ep|\w*epochs?\w*", re.IGNORECASE)
_NUMBER = re.compile(r"epoch", re.IGNORECASE)
#: Of so many functions of the script that lead here.
_MOST_FRAMES = 6
#: Larger files are not read.
_LARGEST = 1 << 18

_Loop = ast.For | ast.AsyncFor | ast.While
_Conditional = ast.If | ast.Try | ast.Match | ast.IfExp


def is_in_every_epoch() -> bool:
    """Return whether the script does what leads here in each turn of a loop over epochs.

    The innermost loop that leads here is one, and nothing between it and here is a condition.
    """
    for frame in script_frames(_MOST_FRAMES):
        tree = script_tree(frame.f_code.co_filename, _LARGEST)
        if tree is None:
            return False
        around = _around(tree, frame.f_lineno, frame.f_code.co_firstlineno)
        for node in around:
            if isinstance(node, _Conditional):
                return False
            if isinstance(node, _Loop):
                return _counts_epochs(node)
    return False


def _around(tree: ast.Module, line: int, beginning: int) -> list[ast.AST]:
    """Return the statements of a function, or of a module, that a line is in, the innermost first.

    Of a loop it is in the body only, and the function itself is none of them.

    Args:
        line: Where the code stands.
        beginning: Where its function begins, with what decorates it; 0 or 1 of a module.
    """
    found: list[ast.AST] = []
    inside: list[ast.AST] = list(ast.iter_child_nodes(tree))
    while inside:
        node = inside.pop()
        begins, ends = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0) or 0
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            begins = first_line(node)
        if not begins <= line <= ends:
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and begins == beginning:
            found.clear()  # what is around a function does not lead to what is in it
        elif not isinstance(node, _Loop) or line >= node.body[0].lineno:
            found.append(node)
        inside = list(ast.iter_child_nodes(node))
    return found[::-1]


def _counts_epochs(loop: _Loop) -> bool:
    if isinstance(loop, ast.While):
        return bool(_NUMBER.search(ast.unparse(loop.test)))
    names = [one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)]
    is_counted = any(_COUNTED.fullmatch(name) for name in names)
    return is_counted or bool(_NUMBER.search(ast.unparse(loop.iter)))
