"""The names of the layers and variables of a Keras model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, count
from typing import Any
from weakref import ref


class ModelNames:
    """Names of what is in one model: the path of layer names, as in ``encoder/dense/kernel``.

    Keras itself makes the name of a layer differ from those of all layers that were made before,
    but lets one be given twice; the second is then ``dense_2``.

    Args:
        model: The model; built, so that its variables are there.
    """

    def __init__(self, model: Any) -> None:
        self.model = ref(model)
        self.layers: dict[int, str] = {}
        self.variables: dict[int, str] = {}
        #: The variables that a layer may train, frozen ones included.
        self.weights: set[int] = set()
        self.num_variables = len(model.variables)
        self._taken: set[str] = set()
        self._name(model, "")
        for variable in model.variables:  # of what is no layer, such as a seed generator
            self._name_variable(variable, variable.path)

    def of_layer(self, layer: object) -> str | None:
        """Return the name of a layer, ``None`` if it is none of this model."""
        return self.layers.get(id(layer))

    def of_variable(self, variable: Any) -> str:
        """Return the name of a variable; its own path if it is none of this model."""
        return self.variables.get(id(variable)) or str(variable.path)

    def callable_layers(self) -> Iterator[str]:
        """Yield the names of all layers that compute something."""
        model = self.model()
        if model is not None:
            for layer in (model, *_inside(model)):
                if type(layer).__name__ != "InputLayer":
                    yield self.layers[id(layer)]

    def _name(self, layer: Any, path: str) -> None:
        self.layers[id(layer)] = self._free(path or layer.name)
        inside = f"{path}/" if path else ""
        self.weights.update(id(variable) for variable in layer._trainable_variables)
        for variable in (*layer._trainable_variables, *layer._non_trainable_variables):
            self._name_variable(variable, f"{inside}{variable.name}")
        for part in layer._flatten_layers(include_self=False, recursive=False):
            if id(part) not in self.layers:
                self._name(part, f"{inside}{part.name}")

    def _name_variable(self, variable: Any, name: str) -> None:
        if id(variable) not in self.variables:
            self.variables[id(variable)] = self._free(name)

    def _free(self, name: str) -> str:
        numbered = (f"{name}_{number}" for number in count(2))
        free = next(one for one in chain([name], numbered) if one not in self._taken)
        self._taken.add(free)
        return free


def _inside(model: Any) -> Iterable[Any]:
    return dict.fromkeys(model._flatten_layers(include_self=False))


def slot_names(optimizer: Any, weights: Iterable[tuple[Any, str]]) -> list[str]:
    """Return what each variable of an optimizer is called, in the order of ``variables``.

    Args:
        optimizer: Built.
        weights: The trainable variables, each with its name.

    Returns:
        ``dense/kernel/velocity`` for what is kept of a weight, else the name of the variable.
    """
    # Keras names what it keeps of a variable by the variable's path.
    prefixes = {f"{variable.path.replace('/', '_')}_": name for variable, name in weights}
    names = []
    for variable in optimizer.variables:
        found = [one for one in prefixes if variable.name.startswith(one)]
        prefix = max(found, key=len, default="")
        slot = variable.name[len(prefix) :]
        names.append(f"{prefixes[prefix]}/{slot}" if prefix else slot)
    return names
