"""Under which tags TensorBoard shows what."""

from __future__ import annotations

import re


class Tags:
    """Makes tags of names, and never one tag of two names.

    A tag has letters, digits and ``-/_.`` only; the rest becomes ``_``. Where another name has a
    tag already, a number follows.

    Example:
        >>> tags = Tags()
        >>> tags["conv/kernel:0"], tags["/conv/kernel_0"], tags["conv/kernel:0"]
        (b'conv/kernel_0', b'conv/kernel_0_1', b'conv/kernel_0')
    """

    def __init__(self) -> None:
        self._tag_of: dict[str, bytes] = {}
        self._taken: set[str] = set()

    def __getitem__(self, name: str) -> bytes:
        tag = self._tag_of.get(name)
        if tag is None:
            tag = self._tag_of[name] = self._free_tag(name).encode()
        return tag

    def _free_tag(self, name: str) -> str:
        tag = wanted = re.sub(r"[^-/\w.]", "_", name).lstrip("/")
        number = 0
        while tag in self._taken:
            number += 1
            tag = f"{wanted}_{number}"
        self._taken.add(tag)
        return tag
