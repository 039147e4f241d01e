"""What of the models is captured, and what is not and why."""

from __future__ import annotations

from ..coverage_line import coverage_line
from .modules import Modules
from .names import Names, parameters_of
from .observe import Observer


def coverage(names: Names, modules: Modules, observer: Observer) -> str:
    """Return the coverage line of what was observed so far.

    Args:
        names: What there is in Gluon.
        modules: What there is beside it.
        observer: What was seen of it.
    """
    named = [names.of_parameter(each) for root in names.roots for each in parameters_of(root)]
    parameters = {name: None if name in observer.seen else "not reached" for name in named}
    parameters |= dict.fromkeys(sorted(modules.parameters))
    outputs: dict[str, str | None] = dict.fromkeys(sorted(modules.outputs))
    for name, (_, is_hidden) in names.blocks().items():
        why = "inside a hybridized block" if is_hidden else "not called in this step"
        outputs[name] = observer.returned.get(name, why)
    return coverage_line(parameters, outputs)
