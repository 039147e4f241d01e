"""The names of variables and layers that gradient tapes meet."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any


class Naming:
    """Names variables, each by one name for as long as it lives; and layers, if Keras is there.

    A variable of TensorFlow has the name that the script gave it, ``Variable`` if none. One that
    is met later under a name that is taken has a number behind it: ``Variable_1``.
    """

    def __init__(self) -> None:
        self._variables: dict[int, str] = {}
        self._taken: dict[str, int] = {}
        self._models: list[Any] = []

    def of_variable(self, variable: Any) -> str:
        """Return the name of a variable, of TensorFlow or of Keras."""
        for names in self._models:
            if id(variable) in names.variables:
                return str(names.variables[id(variable)])
        name = self._variables.get(id(variable))
        if name is None:
            plain = getattr(variable, "path", None) or variable.name.partition(":")[0]
            count = self._taken.get(plain, 0)
            self._taken[plain] = count + 1
            name = self._variables[id(variable)] = f"{plain}_{count}" if count else plain
            weakref.finalize(variable, self._variables.pop, id(variable), None)
        return name

    def of_layers(self, layers: Sequence[Any], names_of: Callable[[Any], Any]) -> dict[int, str]:
        """Return the names of layers that ran, by their ids.

        Args:
            layers: In the order in which they returned, so that a model comes after its parts.
            names_of: Names what is in a model: ``keras.names.ModelNames``.
        """
        found: dict[int, str] = {}
        for layer in reversed(layers):
            if id(layer) not in found:
                found.update(self._of_model(layer, names_of).layers)
        return found

    def _of_model(self, model: Any, names_of: Callable[[Any], Any]) -> Any:
        self._models = [one for one in self._models if one.model() is not None]
        for names in self._models:
            if id(model) in names.layers and names.num_variables == len(names.model().variables):
                return names
        self._models = [one for one in self._models if one.model() is not model]
        self._models.append(names_of(model))
        return self._models[-1]
