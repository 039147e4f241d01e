"""Tells browsers that a run changed: one look at the run for all that listen.

What waits for a browser is one word, the newest: who reads slowly misses words, and no memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

# How often a run is looked at while somebody listens, and how often nothing is said to all.
_LOOK_S, _SILENT_S = 0.5, 15.0


class Feed:
    """The versions of one run as they come.

    Args:
        look: Returns the version as it is now.
    """

    def __init__(self, look: Callable[[], Awaitable[str]]) -> None:
        self._look = look
        self._waiting: set[asyncio.Queue[str]] = set()
        self._version = ""
        self._task: asyncio.Task[None] | None = None

    async def listen(self) -> AsyncIterator[str]:
        """Yield server-sent events: the version at once, and whenever it changes."""
        queue: asyncio.Queue[str] = asyncio.Queue(maxsize=1)
        self._waiting.add(queue)
        if self._task is None:
            self._version = ""
            self._task = asyncio.create_task(self._watch())
        elif self._version:
            queue.put_nowait(self._version)
        try:
            yield "retry: 2000\n\n"
            while True:
                try:
                    version = await asyncio.wait_for(queue.get(), _SILENT_S)
                    yield f"data: {version}\n\n"
                except asyncio.TimeoutError:
                    yield ": still here\n\n"
        finally:
            self._waiting.discard(queue)
            if not self._waiting and self._task is not None:
                self._task.cancel()
                self._task = None

    async def _watch(self) -> None:
        while True:
            version = await self._look()
            if version != self._version:
                self._version = version
                for queue in self._waiting:
                    with suppress(asyncio.QueueEmpty):
                        queue.get_nowait()
                    queue.put_nowait(version)
            await asyncio.sleep(_LOOK_S)
