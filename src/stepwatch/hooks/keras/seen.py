"""What of the models that train was seen, for the coverage line."""

from __future__ import annotations

from ..coverage_line import coverage_line
from .names import ModelNames


class Seen:
    """Knows what there is, and what of it was missed and why."""

    def __init__(self) -> None:
        self._models: list[ModelNames] = []
        #: What was met where it could not be taken from.
        self.missed: set[str] = set()
        #: What else is not captured, in words.
        self.notes: set[str] = set()

    def trains(self, names: ModelNames) -> None:
        """A model trains."""
        if all(names is not one for one in self._models):
            self._models = [one for one in self._models if one.model() is not names.model()]
            self._models.append(names)

    def coverage(self, observed: set[str]) -> str:
        """Return the coverage line.

        Args:
            observed: The names of what was observed.
        """
        parameters: dict[str, str | None] = {}
        outputs: dict[str, str | None] = {}
        for names in self._models:
            model = names.model()
            for variable in () if model is None else model.trainable_variables:
                name = names.of_variable(variable)
                parameters[name] = self._why(f"gradient/{name}", observed, "no gradient")
            for layer in names.callable_layers():
                outputs[layer] = self._why(f"output/{layer}", observed, "not called in this step")
        return ", ".join([coverage_line(parameters, outputs), *sorted(self.notes)])

    def _why(self, name: str, observed: set[str], absent: str) -> str | None:
        if any(one == name or one.startswith(f"{name}/") for one in observed):
            return None
        if any(one == name or one.startswith(f"{name}/") for one in self.missed):
            return "inside of a loop, a condition or a function of its own"
        return absent
