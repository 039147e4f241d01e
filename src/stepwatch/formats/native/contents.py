"""The contents of a run: what its large parts say of themselves, so that it opens by few requests.

Only a hint. Which parts there are, a listing tells: what is said here of a part that is not
listed means nothing, and a part of which nothing is said is asked itself. A part is entered once
it lies there and grows no more.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence

from ...parallel import map_parallel
from ...store import Store
from .layout import CONTENTS, Span, contents_key, observations_key, parse_span
from .parquet_file import Extent, Group
from .part_meta import PartMeta
from .parts import Known

# A page is written again for each part that is entered, so that it must stay small.
PAGE_PARTS = 64
_log = logging.getLogger("stepwatch")


class Contents:
    """Enters the large parts of one worker while they are written.

    Args:
        store: Where they lie.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._page: list[Known] = []

    def enter(self, parts: Iterable[Known]) -> None:
        """Enter parts that follow those before and grow no more."""
        for known in parts:
            self._page.append(known)
            if len(self._page) == PAGE_PARTS:
                page, self._page = self._page, []
                _put_page(self._store, page)
        _put_page(self._store, self._page)


def rewrite_contents(store: Store, worker: str, parts: Sequence[Known]) -> None:
    """Enter exactly these parts, which are all of a worker, in the order of steps."""
    before = store.list(f"{CONTENTS}{worker}/")
    Contents(store).enter(parts)
    pages = {contents_key(part.span) for part in parts[::PAGE_PARTS]}
    for key in set(before) - pages:
        store.delete(key)


def read_contents(store: Store) -> dict[Span, Known]:
    """Return what is known of parts; a page that is damaged says nothing."""

    def read(key: str) -> list[Known]:
        try:
            return list(_from_json(store.get(key), key.split("/")[1]))
        except FileNotFoundError:
            return []  # rewritten meanwhile
        except (IndexError, KeyError, TypeError, ValueError) as error:
            _log.warning("%s: %s is passed over: %r", store.url, key, error)
            return []

    pages = map_parallel(read, store.list(CONTENTS))
    return {known.span: known for page in pages for known in page}


def _put_page(store: Store, page: Sequence[Known]) -> None:
    rows = [
        {
            "part": observations_key(known.span).rpartition("/")[2],
            "rows": known.num_rows,
            "bytes": known.extent.file,
            "footer": known.extent.footer,
            "tensors": [group.first for group in known.groups],
            "stops": [group.stop for group in known.groups],
            **known.meta.to_fields(),
        }
        for known in page
    ]
    if rows:
        key = contents_key(page[0].span)
        store.put(key, json.dumps(rows, separators=(",", ":")).encode())


def _from_json(data: bytes, worker: str) -> Iterator[Known]:
    for fields in json.loads(data):
        span = parse_span(f"{worker}/{fields['part']}")
        if span is None:
            raise ValueError(f"{fields['part']!r} is no part")
        yield Known(
            span,
            PartMeta.from_fields(fields),
            int(fields["rows"]),
            Extent(int(fields["bytes"]), int(fields["footer"])),
            tuple(map(Group, fields["tensors"], fields["stops"])),
        )
