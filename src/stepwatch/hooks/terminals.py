"""Ends of episodes that a script stores, takes out of a batch, and never reads.

The target of a value is the reward and a discount times the value of the next state, which there is
not where an episode has ended. A function that is compiled holds no trace of what it does not use,
so it is read: it unpacks the flags, or names the other fields of a batch, and forms such a target
without them. What flags are of is read where an environment takes a step: of episodes that were cut
off only, they are left out rightly.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from types import CodeType
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from .script import first_line, is_script, script_tree, script_variables

_AROUND = r"(?:b_|batch_)?({})(?:_(?:b|batch|t))?"
# What people call, of a batch or of a step, whether an episode has ended, what it earned, and where
# it went on.
_END = re.compile(
    _AROUND.format(r"d|dn|dones?|terms?|terminals?|terminated|terminations?"), re.IGNORECASE
)
_REWARD = re.compile(_AROUND.format(r"r|rews?|rewards?"), re.IGNORECASE)
_NEXT = re.compile(
    _AROUND.format(
        r"(?:n(?:e?xt)?|new)_?(?:s(?:tates?)?|o(?:bs(?:ervations?)?)?|x)?|[a-z]+(?:2|_p)"
    ),
    re.IGNORECASE,
)
_DISCOUNT = re.compile(r"gamma|discount", re.IGNORECASE)
# Another way to say where an episode goes on.
_MASK = re.compile(r"mask|final|alive|contin|not_?done|absorb|bootstrap", re.IGNORECASE)
_NOT_END = re.compile(r"non_?term", re.IGNORECASE)
_ANY_END = re.compile(r"done|termin", re.IGNORECASE)
# Of what an environment returns: an episode was cut off, which is no end of it.
_CUT_OFF = re.compile(r"trunc\w*|cut\w*|time\w*|limit\w*|stop\w*|reset|expired", re.IGNORECASE)
_STORES = frozenset({"append", "push", "add", "store", "remember", "put", "insert"})
# What else is done to a list that is no use of what it holds.
_EMPTIES = frozenset({"clear", "extend", "append", "zero_", "fill_"})
#: So many episodes must end within what is collected at once, and not all after as many steps, as
#: where they are cut off.
LEAST_EPISODES = 4
#: Larger files are not read.
_LARGEST = 1 << 17
#: What stands outside of functions is called.
_SCRIPT = "the script"


class Unread(NamedTuple):
    """Flags that a function is given and does not read.

    Args:
        function: Its name.
        name: What it calls them.
        parameter: The argument that they are in,
        place: and where in it, among the parts that it is unpacked into; ``None`` for all of it.
    """

    function: str
    name: str
    parameter: str
    place: int | None

    def value(self, arguments: Mapping[str, Any]) -> Any:
        """Return the flags among the arguments of a call, by name; ``None`` where they are not."""
        given: Any = arguments.get(self.parameter)
        if self.place is None:
            return given
        is_sequence = isinstance(given, Sequence) and len(given) > self.place
        return given[self.place] if is_sequence else None


class UnreadField(NamedTuple):
    """A batch whose rewards and next states are read by name, and the ends beside them are not.

    Args:
        function: The name of the function that does so.
        batch: What it calls the batch.
    """

    function: str
    batch: str

    def value(self, variables: Mapping[str, Any]) -> tuple[str, Any]:
        """Return what the field is called, and the flags; ``None`` where there is none, or more."""
        batch = variables.get(self.batch)
        fields: Iterable[Any] = getattr(batch, "_fields", ()) or getattr(batch, "__dict__", ())
        named = [one for one in fields if isinstance(one, str)]
        names = [one for one in named if getattr(batch, one, None) is not None]
        ends = [one for one in names if _END.fullmatch(one)]
        is_other = any(_MASK.search(one) or _DISCOUNT.search(one) for one in names)
        return (ends[0], getattr(batch, ends[0])) if len(ends) == 1 and not is_other else ("", None)


def has_ends(flags: Any) -> bool:
    """Return whether flags are zeros and ones, one for each of a batch, and some are ones.

    Args:
        flags: Numbers in a list or tuple, or an array or tensor on the host.
    """
    if type(flags) in (list, tuple):
        if not flags or not all(isinstance(one, (bool, int, float)) for one in flags):
            return False
    elif len(getattr(flags, "shape", ())) not in (1, 2):
        return False
    array = np.asarray(flags).astype(np.float64)
    return bool(((array == 0) | (array == 1)).all() and array.any())


def unread_ends(code: CodeType, *, is_alone: bool = True) -> tuple[Unread, ...]:
    """Return the ends of episodes that a function of a script leaves unread.

    It forms the target of a value, and what the script stores are ends proper.

    Args:
        code: Of the function.
        is_alone: Not the functions that stand beside it in the script.
    """
    file, line = code.co_filename, _line_of(code)
    found = _unread_by_line(file) if is_script(file) else {}
    if not is_alone:
        return tuple(found.values())
    return (found[line],) if line in found else ()


def unread_in(file: str) -> Iterator[str]:
    """Yield functions of a script and the ends that they leave unread, as ``FUNCTION/FLAGS``.

    Args:
        file: Its path.
    """
    for name in forgotten_ends(file):
        yield f"{_SCRIPT}/{name}"
    for one in _unread_by_line(file).values() if is_script(file) else ():
        yield f"{one.function}/{one.name}"


@lru_cache(maxsize=64)
def forgotten_ends(file: str) -> tuple[str, ...]:
    """Return what a script calls the ends of the steps that it collects, where it never reads them.

    It forms returns or advantages all the same: a reward and the discounted value of what comes
    next, in a loop or function that knows no ends, so that these go on from one episode to the
    next. Ends are kept in a list, in an array, or in a field of a class.

    Args:
        file: Its path.
    """
    tree = script_tree(file, _LARGEST) if is_script(file) else None
    if tree is None:
        return ()
    nodes = [*ast.walk(tree)]
    words = set(_identifiers(tree))
    if any(_MASK.search(one) or _NOT_END.search(one) for one in words):
        return ()
    if any(_unpacks_ends(one) for one in nodes) or not _is_formed_without_ends(tree):
        return ()
    bases = {id(base) for one in nodes for base in _store_bases(one)}
    used = {
        (type(one), _identifier(one))
        for one in nodes
        if isinstance(one, (ast.Name, ast.Attribute))
        and isinstance(one.ctx, ast.Load)
        and id(one) not in bases
    }
    kept = {(type(base), _identifier(base)) for one in nodes for base in _store_bases(one)} | {
        (ast.Attribute, name) for one in nodes for name in _fields_of(one)
    }
    found = {name for kind, name in kept if _END.fullmatch(name) and (kind, name) not in used}
    return tuple(sorted(found))


@lru_cache(maxsize=64)
def cut_offs_for_ends(file: str) -> tuple[str, ...]:
    """Return what a script calls the cut-offs of episodes, where it stores them in place of ends.

    An environment returns both apart, ``obs, reward, terminated, truncated, info``, and of these
    the first is stored nowhere, nor anything that is made of it.

    Args:
        file: Its path.
    """
    tree = script_tree(file, _LARGEST) if is_script(file) else None
    if tree is None:
        return ()
    nodes = [*ast.walk(tree)]
    apart = [names[2:4] for names in _parts_of_steps(tree) if len(names) == 5 and all(names[2:4])]
    ends, cut_offs = ({pair[place] for pair in apart} for place in (0, 1))
    found = {
        name
        for words in _stored(nodes).values()
        for name in cut_offs & words
        if any(map(_REWARD.fullmatch, words))
    }
    ends = _with_made(ends, nodes)
    used = [one for node in nodes if isinstance(node, ast.Call) for one in node.args]
    used += [node.value for node in nodes if isinstance(node, ast.Assign)
             and any(isinstance(one, ast.Subscript) for one in node.targets)]  # fmt: skip
    if any(ends & {name.id for name in _names(one)} for one in used):
        return ()
    return tuple(sorted(found - ends))


@lru_cache(maxsize=64)
def unstored_ends(file: str) -> tuple[str, ...]:
    """Return what a script calls the ends of episodes, where it stores steps without them.

    It forms the target of a value all the same: a reward and the discounted value of what comes
    next. Where an environment knows no ends, there are none to store: see ``ends_seen``.

    Args:
        file: Its path.
    """
    tree = script_tree(file, _LARGEST) if is_script(file) else None
    if tree is None or not _is_formed_without_ends(tree):
        return ()
    words = set(_identifiers(tree))
    if any(_MASK.search(one) or _NOT_END.search(one) for one in words):
        return ()
    steps = [names for names in _parts_of_steps(tree) if len(names) in (4, 5)]
    nodes = [*ast.walk(tree)]
    ends = {names[2] for names in steps if _END.fullmatch(names[2])}
    made = _with_made(ends, nodes)
    of_steps = {
        node: given
        for node, given in _stored(nodes).items()
        if any({*one[:2]} <= given for one in steps)
    }
    by_ends = any(
        isinstance(node, ast.If)
        and made & {one.id for one in _names(node.test)}
        and any(one in of_steps for one in ast.walk(node))
        for node in nodes
    )
    has_ends = by_ends or any(made & given for given in of_steps.values())
    return tuple(sorted(ends)) if of_steps and not has_ends else ()


def ends_seen(names: Iterable[str]) -> Iterator[str]:
    """Yield those of some variables of the script that say now that an episode has ended.

    Args:
        names: What it calls them.
    """
    known = set(names)
    for name, value in script_variables() if known else ():
        if name in known and isinstance(value, (bool, np.bool_)) and value:
            yield name


def end_numbers(file: str) -> dict[str, float]:
    """Return a 1 for all ends that a script leaves unread, and for those that it does not store.

    Args:
        file: Its path.

    Returns:
        By the names of what is stored, in the collection ``policy``.
    """
    found = {f"value/unread_ends/{one}": 1.0 for one in unread_in(file)}
    return found | {f"value/unstored_ends/{one}": 1.0 for one in ends_seen(unstored_ends(file))}


def are_of_episodes(flags: Any) -> bool:
    """Return whether several episodes end within what was collected, after various steps.

    Args:
        flags: Zeros and ones, one for each step, or a row of those of several environments.
    """
    try:
        array = np.asarray(flags, np.float64)
    except (TypeError, ValueError):
        return False
    if array.ndim not in (1, 2) or not array.size or not ((array == 0) | (array == 1)).all():
        return False
    columns = array.reshape(len(array), -1).T
    lengths = [length for one in columns for length in np.diff(np.flatnonzero(one)).tolist()]
    return len(lengths) >= LEAST_EPISODES and len(set(lengths)) > 1


def _identifier(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _stored(nodes: Iterable[ast.AST]) -> dict[ast.AST, set[str]]:
    """Return the names that are stored, by the call that does so."""
    return {
        node: {one.id for arg in node.args for one in _names(arg)}
        for node in nodes
        if isinstance(node, ast.Call) and _is_store(node)
    }


def _with_made(names: set[str], nodes: Iterable[ast.AST]) -> set[str]:
    """Return names, and those of what is made of them by assignments, in their order."""
    found = set(names)
    for node in nodes:
        if isinstance(node, ast.Assign) and found & {one.id for one in _names(node.value)}:
            found |= {one.id for target in node.targets for one in _names(target)}
    return found


def _store_bases(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the list or array that something is put into, or that is emptied."""
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        yield node.value
    elif _is_call_of(node, _EMPTIES):
        yield node.func.value  # type: ignore[attr-defined]  # of a call


def _fields_of(node: ast.AST) -> Iterator[str]:
    """Yield the fields of a class, as of a ``NamedTuple``, which also holds rewards."""
    names: list[str] = []
    if isinstance(node, ast.ClassDef):
        fields = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
        names = [one.id for one in fields if isinstance(one, ast.Name)]
    if any(map(_REWARD.fullmatch, names)):
        yield from names


def _unpacks_ends(node: ast.AST) -> bool:
    """Return whether ends are taken out of anything but a step of an environment."""
    if isinstance(node, (ast.For, ast.comprehension)):
        target, value = node.target, None
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
    else:
        return False
    if not isinstance(target, (ast.Tuple, ast.List)):
        return False
    is_of_ends = any(_END.fullmatch(one.id) for one in _names(target))
    return is_of_ends and not (value is not None and "step" in {*_identifiers(value)})


def _is_formed_without_ends(tree: ast.Module) -> bool:
    """Return whether a target is formed, and in no loop or function that names ends."""
    scopes = [tree, *(one for one in ast.walk(tree) if isinstance(one, (ast.For, ast.FunctionDef)))]
    forming = [
        one
        for one in scopes
        if _forms_target(ast.walk(one), lambda node: bool(_REWARD.fullmatch(_identifier(node))))
    ]
    innermost = [
        one
        for one in forming
        if not any(other is not one and other in forming for other in ast.walk(one))
    ]
    words = {word for one in innermost for word in _identifiers(one)}
    return bool(innermost) and not any(_END.fullmatch(one) or _ANY_END.search(one) for one in words)


def _line_of(code: CodeType) -> int:
    """Return the first line of a function; 0 for all that stands outside of functions."""
    return 0 if code.co_name == "<module>" else code.co_firstlineno


def unread_fields(code: CodeType) -> tuple[UnreadField, ...]:
    """Return the batches of which a function, or a script, forms a target without their ends.

    Args:
        code: Of the function, or of all that stands outside of functions.
    """
    file = code.co_filename
    return _fields_by_line(file).get(_line_of(code), ()) if is_script(file) else ()


@lru_cache(maxsize=64)
def _fields_by_line(file: str) -> Mapping[int, tuple[UnreadField, ...]]:
    script = _script(file)
    if script is None:
        return {}
    tree, functions = script
    found = {line: tuple(_fields_in(one, one.name, tree)) for line, one in functions.items()}
    return {0: tuple(_fields_in(tree, _SCRIPT, tree)), **found}


def _fields_in(scope: ast.AST, name: str, tree: ast.Module) -> Iterator[UnreadField]:
    """Yield the batches of a function or module, by the fields that are read of them."""
    nodes = list(_within(scope))
    names = [one for one in nodes if isinstance(one, ast.Name)]
    if any(_MASK.search(one.id) for one in names):
        return
    drawn = {
        node.targets[0].id
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.targets[0], ast.Name)
    }
    for batch in sorted(drawn):
        fields = [one.attr for one in nodes if _is_field(one, batch)]
        reads = sum(one.id == batch and isinstance(one.ctx, ast.Load) for one in names)
        has_next = any(_NEXT.fullmatch(one) for one in fields)
        # Else it may be given to a function that reads them.
        if len(fields) != reads or not has_next:
            continue
        is_read = any(
            _is_field(one, batch) and (_END.fullmatch(one.attr) or _DISCOUNT.search(one.attr))
            for one in ast.walk(tree)
        )
        if not is_read and _forms_target(nodes, partial(_is_reward_of, batch)):
            yield UnreadField(name, batch)


def _is_reward_of(batch: str, node: ast.AST) -> bool:
    return _is_field(node, batch) and bool(_REWARD.fullmatch(node.attr))


def _is_field(node: ast.AST, batch: str) -> TypeGuard[ast.Attribute]:
    is_attribute = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return is_attribute and node.value.id == batch  # type: ignore[attr-defined]  # of an attribute


def _within(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in a function or module, and in no function or class inside of it."""
    for node in ast.iter_child_nodes(scope):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node
            yield from _within(node)


@lru_cache(maxsize=64)
def _unread_by_line(file: str) -> Mapping[int, Unread]:
    script = _script(file)
    if script is None:
        return {}
    tree, functions = script
    found = {0: _unread_in(tree, _SCRIPT, list(_within(tree)))}
    found |= {line: _unread_in(one, one.name, [*ast.walk(one)]) for line, one in functions.items()}
    return {line: one for line, one in found.items() if one is not None}


@lru_cache(maxsize=1)  # both of the above ask for it, one after the other
def _script(file: str) -> tuple[ast.Module, Mapping[int, ast.FunctionDef]] | None:
    """Return a script that keeps the ends of episodes, and its functions by their first lines."""
    tree = script_tree(file, _LARGEST)
    if tree is None or not _stores_ends(tree):
        return None
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return tree, {first_line(one): one for one in functions}


def _unread_in(
    scope: ast.Module | ast.FunctionDef, title: str, nodes: Sequence[ast.AST]
) -> Unread | None:
    """Return the ends that a function leaves unread, or a script outside of functions.

    Args:
        scope: In all of which, functions inside included, nobody reads them.
        title: What it is called.
        nodes: What stands in it.
    """
    loaded = [one for one in _names(scope) if isinstance(one.ctx, ast.Load)]
    read = [one.id for one in loaded]
    stored = [one.id for one in _names(scope) if isinstance(one.ctx, ast.Store)]
    if any(_MASK.search(one) for one in read + stored) or {"locals", "vars", "eval"} & set(read):
        return None
    given = [] if isinstance(scope, ast.Module) else [*scope.args.posonlyargs, *scope.args.args]
    parameters = [one.arg for one in given]
    for names, parameter in ((parameters, ""), *_unpacked(nodes)):
        ends = [at for at, name in enumerate(names) if _END.fullmatch(name)]
        rewards = [name for name in names if _REWARD.fullmatch(name)]
        has_next = any(_NEXT.fullmatch(name) and name in read for name in names)
        if len(ends) != 1 or len(rewards) != 1 or not has_next:
            continue
        name = names[ends[0]]
        is_once = (stored + parameters).count(name) == 1 and name not in read
        # Else it may be given to a function that reads them.
        is_whole = not parameter or read.count(parameter) == 1
        # Discounts of a batch are 0 at the ends.
        is_known = parameter and any(_DISCOUNT.search(one) for one in names)
        is_reward = partial(_is_named, rewards[0])
        is_unread = is_once and is_whole and not is_known
        if is_unread and _forms_target(nodes, is_reward):
            place = ends[0] if parameter in parameters else None
            return Unread(title, name, parameter if place is not None else name, place)
    return None


def _unpacked(nodes: Iterable[ast.AST]) -> Iterator[tuple[list[str], str]]:
    """Yield the names that a batch is unpacked into; and its own, empty for what was drawn."""
    for node in nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, (ast.Name, ast.Call)):
            continue
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, (ast.Tuple, ast.List)):
            names = [one.id for one in target.elts if isinstance(one, ast.Name)]
            if len(names) == len(target.elts):
                yield names, node.value.id if isinstance(node.value, ast.Name) else ""


def _forms_target(nodes: Iterable[ast.AST], is_reward: Callable[[ast.AST], bool]) -> bool:
    """Return whether a reward and a discount times something are added up."""
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and any(
            _is_discounted(other) and any(map(is_reward, ast.walk(one)))
            for one, other in ((node.left, node.right), (node.right, node.left))
        )
        for node in nodes
    )


def _is_discounted(node: ast.AST) -> bool:
    return any(
        isinstance(one, ast.BinOp)
        and isinstance(one.op, ast.Mult)
        and any(_DISCOUNT.search(name) for name in (*_identifiers(one), *_keys(one)))
        for one in ast.walk(node)
    )


def _keys(node: ast.AST) -> Iterator[str]:
    """Yield the text that something is looked up by, as ``config["GAMMA"]``."""
    for one in ast.walk(node):
        if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Constant):
            yield str(one.slice.value)


def _stores_ends(tree: ast.Module) -> bool:
    """Return whether a script keeps the ends of episodes, and not where they were cut off.

    An environment returns both apart: ``state, reward, terminated, truncated = env.step(action)``.
    """
    ends = set()
    for names in _parts_of_steps(tree):
        if not _END.fullmatch(names[2]):
            continue
        is_apart = len(names) == 5 or (len(names) == 4 and _CUT_OFF.fullmatch(names[3]))
        if not is_apart:
            return False
        ends.add(names[2])
    stores = [one for one in ast.walk(tree) if _is_store(one) and ends & set(_identifiers(one))]
    return bool(stores) and not any(_mixes(one) for one in stores) and not _joins(tree, ends)


def _parts_of_steps(tree: ast.Module) -> Iterator[list[str]]:
    """Yield what the parts of each step of an environment are called, three or more.

    What is no name, as a field, is ``""``.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_step(node.value):
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and len(target.elts) >= 3:
                yield [one.id if isinstance(one, ast.Name) else "" for one in target.elts]


def _is_step(node: ast.AST) -> bool:
    return _is_call_of(node, frozenset({"step"}))


def _is_store(node: ast.AST) -> bool:
    return _is_call_of(node, _STORES)


def _is_call_of(node: ast.AST, methods: frozenset[str]) -> bool:
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return is_method and node.func.attr in methods  # type: ignore[attr-defined]  # of a call


def _mixes(node: ast.AST) -> bool:
    """Return whether what is stored may say that an episode was cut off."""
    parts = list(ast.walk(node))
    is_joined = any(isinstance(one, (ast.BoolOp, ast.BitOr, ast.IfExp)) for one in parts)
    return is_joined or any(_CUT_OFF.fullmatch(one) for one in _identifiers(node))


def _joins(tree: ast.Module, ends: set[str]) -> bool:
    """Return whether an end is also set where an episode is cut off."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            targets: Sequence[ast.expr] = [node.target]
        elif isinstance(node, ast.Assign):
            targets = node.targets
        else:
            continue
        if not any(ends & {one.id for one in _names(target)} for target in targets):
            continue
        if isinstance(node, ast.AugAssign) or (node.value and _is_of_both(node.value, ends)):
            return True
    return False


def _is_of_both(value: ast.AST, ends: set[str]) -> bool:
    is_joined = any(isinstance(one, (ast.BoolOp, ast.BitOr)) for one in ast.walk(value))
    words = set(_identifiers(value))
    return is_joined and bool(words & ends or any(map(_CUT_OFF.fullmatch, words)))


def _is_named(name: str, node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Name))


def _identifiers(node: ast.AST) -> Iterator[str]:
    """Yield the names of variables and attributes."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr
