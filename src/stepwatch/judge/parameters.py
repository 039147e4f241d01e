"""Rules from what people write: a spec on the command line, or strings from a JSON file.

The grammar is that of ``specs``. The name is that of a rule in snake_case or CamelCase, or
``path/to/file.py:ClassName``.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence

from ..errors import ConfigError
from ..plugins import registry
from ..plugins.specs import (
    arguments,
    convert,
    load_file,
    names_file,
    read_spec,
    split_list,
    split_specs,
)
from .rule import Rule, Scope, Watched

__all__ = [
    "GROUP",
    "Spec",
    "build",
    "convert",
    "find_rule",
    "parse_rules",
    "rule_specs",
    "split_list",
]

GROUP = "stepwatch.rules"
Spec = str | Mapping[str, object] | Rule | Watched

#: Under these keys a dict names its rule; the second is SageMaker's.
_NAME_KEYS = ("rule", "rule_to_invoke")


def rule_specs(texts: Sequence[str], default: Sequence[str]) -> list[str]:
    """Return the specs that ``--rules`` texts ask for, with ``default`` and ``none`` resolved.

    Args:
        texts: Each of one or more specs; none of them stands for the default set.
        default: The specs of the default set.

    Example:
        >>> rule_specs(["none"], ["overfit"]), rule_specs(["loss_spike; default"], ["overfit"])
        ([], ['loss_spike', 'overfit'])
    """
    if not texts:
        return list(default)
    specs: list[str] = []
    for spec in (spec for text in texts for spec in split_specs(text)):
        if spec == "default":
            specs.extend(default)
        elif spec != "none":
            specs.append(spec)
    return specs


def parse_rules(specs: str | Sequence[Spec]) -> list[Watched]:
    """Build rules from specs.

    Args:
        specs: One text, or several of: texts, dicts with the key ``rule`` and parameters as
            strings or as JSON's own types, and rules that are already built.

    Returns:
        In the order requested. A rule that is requested twice gets ``-2`` after its name.

    Raises:
        ConfigError: An unknown rule or parameter, or a value that does not fit; one line that
            names what would.
    """
    watched: list[Watched] = []
    for spec in [specs] if isinstance(specs, str) else specs:
        if isinstance(spec, str):
            watched += [_from_text(text) for text in split_specs(spec)]
        elif isinstance(spec, Watched):
            watched.append(spec)
        elif isinstance(spec, Mapping):
            watched.append(_from_mapping(spec))
        else:
            watched.append(Watched(spec))
    return _with_labels(watched)


def build(name: str, parameters: Mapping[str, object]) -> Watched:
    """Build one rule from its name and its parameters.

    Args:
        name: As in a spec.
        parameters: Strings are converted by the type hints of the rule's constructor; values of
            the right type are taken as they are. Those that the rule does not have itself go to
            its ``Scope``.
    """
    kind = find_rule(name)
    if parameters.get("profile") == "compat":
        parameters = {"on_fire": "stop", **getattr(kind, "compat", {}), **parameters}
    for_rule, for_scope = arguments(kind.name, kind, Scope, parameters, noun="rule")
    try:
        return Watched(kind(**for_rule), Scope(**for_scope))
    except ConfigError as error:
        raise ConfigError(f"{kind.name}: {error}") from None


def find_rule(name: str) -> type[Rule]:
    """Return the class of a rule by its name in any case, or by ``path/to/file.py:ClassName``."""
    if names_file(name):
        return _from_file(*name.rsplit(":", 1))
    found = registry.load(GROUP, name)
    return typing.cast("type[Rule]", found)  # the registry does not know what plug-ins are


def _from_text(text: str) -> Watched:
    return build(*read_spec(text, kind="rule", example="loss_spike:window=64,k=8"))


def _from_mapping(spec: Mapping[str, object]) -> Watched:
    names = [spec[key] for key in _NAME_KEYS if key in spec]
    if len(names) != 1:
        raise ConfigError(
            f"a rule given as a dict needs the key 'rule' with its name, got keys {list(spec)}"
        )
    parameters = {key: value for key, value in spec.items() if key not in _NAME_KEYS}
    return build(str(names[0]), parameters)


def _with_labels(watched: list[Watched]) -> list[Watched]:
    counts: dict[str, int] = {}
    labelled = []
    for one in watched:
        count = counts[one.name] = counts.get(one.name, 0) + 1
        label = f"{one.name}-{count}" if count > 1 else one.label
        labelled.append(Watched(one.rule, one.scope, label))
    return labelled


def _from_file(path: str, class_name: str) -> type[Rule]:
    module = load_file(path, kind="rule")
    found = getattr(module, class_name, None)
    if not (isinstance(found, type) and hasattr(found, "check") and hasattr(found, "name")):
        rules = [n for n, kind in vars(module).items() if hasattr(kind, "check") and n != "Rule"]
        raise ConfigError(
            f"{path} has no rule {class_name}; a rule is a class with name, needs and check"
            f" (there are {', '.join(rules) or 'none'})"
        )
    return found
