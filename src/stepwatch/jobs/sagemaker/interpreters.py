"""Which Python trains: that of the framework whose image a client names, else one for all."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..processes import program


@dataclass(frozen=True, slots=True)
class Interpreters:
    """Interpreters by the images that they stand for.

    Args:
        default: The one for all other images.
        by_image: The others, by a text in the name of the image, such as ``tensorflow``.

    Example:
        >>> known = Interpreters("python", {"tensorflow": "tf/python", "xgboost:1.7": "old/python"})
        >>> known.of("763.dkr.ecr.us-east-1.amazonaws.com/tensorflow-training:2.12-cpu-py310")
        'tf/python'
        >>> known.of("683.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.5-1")
        'python'
    """

    default: str = sys.executable
    by_image: Mapping[str, str] = field(default_factory=dict)

    def of(self, image: str) -> str:
        """Return the one for an image: that of the longest text in its name."""
        name = image.rpartition("/")[2]
        known = [text for text in self.by_image if text in name]
        return self.by_image[max(known, key=len)] if known else self.default


def interpreters(texts: Iterable[str]) -> Interpreters:
    """Return what people write, each ``PATH`` for all images or ``IMAGE=PATH`` for some.

    Raises:
        ConfigError: There is no program at a path.
    """
    default, by_image = sys.executable, dict[str, str]()
    for text in texts:
        image, _, path = text.rpartition("=")
        if image:
            by_image[image] = program(path)
        else:
            default = program(path)
    return Interpreters(default, by_image)
