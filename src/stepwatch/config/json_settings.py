"""Settings as SageMaker passes them: JSON values, of which any may be a string."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from ..errors import ConfigError, nearest

log = logging.getLogger("stepwatch")


class JsonSettings:
    """The settings of one JSON object.

    Args:
        values: The settings by key; ``None`` for none at all.
        where: Where they are, for messages.

    Raises:
        ConfigError: ``values`` is no JSON object.

    Example:
        >>> given = JsonSettings({"save_interval": "20", "save_all": "True"}, "HookParameters")
        >>> given.whole("save_interval"), given.flag("save_all"), "start_step" in given
        (20, True, False)
    """

    def __init__(self, values: object, where: str) -> None:
        if values is None:
            values = {}
        if not isinstance(values, Mapping):
            raise ConfigError(f"{where} must be a JSON object of settings, got {values!r}")
        self.values: Mapping[str, object] = values
        self.where = where

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def whole(self, key: str) -> int:
        """Return a whole number."""
        return self._whole(key, self.values[key])

    def wholes(self, key: str) -> tuple[int, ...]:
        """Return whole numbers: a list of them, or a text with commas between them."""
        return tuple(self._whole(key, item) for item in self._listed(key))

    def flag(self, key: str) -> bool:
        """Return a truth value."""
        value = self.values[key]
        known = _FLAGS.get(str(value).strip().lower())
        if known is None:
            raise self._wrong(key, "true or false")
        return known

    def text(self, key: str) -> str:
        """Return a text."""
        value = self.values[key]
        if not isinstance(value, str):
            raise self._wrong(key, "a text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return texts: a list of them as they are, or a text with commas between them."""
        texts = self._listed(key)
        if not all(isinstance(item, str) for item in texts):
            raise self._wrong(key, "texts")
        return tuple(str(item) for item in texts if item)

    def warn_of_unknown(self, known: Iterable[str], elsewhere: Mapping[str, str]) -> None:
        """Warn once of each key that is unknown; ``elsewhere`` says where others belong."""
        known = list(known)
        for key in self.values:
            if key in known:
                continue
            hint = f"; it belongs into {elsewhere[key]}" if key in elsewhere else ""
            hint = hint or nearest(str(key), known, most=1)
            log.warning("%s: %r is no setting and does nothing%s", self.where, key, hint)

    def _listed(self, key: str) -> list[object]:
        value = self.values[key]
        if isinstance(value, list):
            return value
        if isinstance(value, str):
            return [item.strip() for item in value.split(",") if item.strip()]
        if value is None:
            return []
        return [value]

    def _whole(self, key: str, value: object) -> int:
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            try:
                number = int(value)
            except (ValueError, OverflowError):
                raise self._wrong(key, "a whole number") from None
            if isinstance(value, str) or number == value:
                return number
        raise self._wrong(key, "a whole number")

    def _wrong(self, key: str, wanted: str) -> ConfigError:
        return ConfigError(f"{self.where}: {key} must be {wanted}, got {self.values[key]!r}")


_FLAGS = {"true": True, "false": False, "1": True, "0": False}
