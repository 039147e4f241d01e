"""Functions that are replaced are put back, whatever others do with them meanwhile."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import pytest

from stepwatch.hooks.patching import PatchSet


@pytest.fixture
def owner():
    """What holds a function."""

    def plain(x):
        return [x]

    return SimpleNamespace(plain=plain)


def telling(original):
    """Make what stands in the place of a function."""
    return lambda x: [*original(x), "ours"]


class TestReplaced:
    def test_a_function_is_put_back_as_it_was(self, owner):
        """While it is replaced, it keeps its name."""
        original, replaced = owner.plain, PatchSet()
        replaced.put(owner, "plain", telling)
        assert ([1, "ours"], "plain") == (owner.plain(1), owner.plain.__name__)

        replaced.remove()
        assert owner.plain is original

    def test_what_somebody_else_put_there_since_stays(self, owner):
        """Ours, which theirs calls, does nothing any more."""
        replaced = PatchSet()
        replaced.put(owner, "plain", telling)
        ours = owner.plain
        owner.plain = theirs = lambda x: [*ours(x), "theirs"]
        replaced.remove()

        assert owner.plain is theirs
        assert [1, "theirs"] == owner.plain(1)

    def test_what_somebody_else_put_there_is_replaced_once(self, owner):
        """What is told twice would be counted twice."""
        replaced = PatchSet()
        replaced.put(owner, "plain", telling)
        ours = owner.plain
        owner.plain = theirs = lambda x: [*ours(x), "theirs"]
        replaced.remove()
        replaced.put(owner, "plain", telling)

        assert [1, "theirs", "ours"] == owner.plain(1)
        replaced.remove()
        assert owner.plain is theirs

    def test_it_does_not_matter_who_lets_go_first(self, owner):
        """The first of two that replaced one function does not take the second's away."""
        first, second = PatchSet(), PatchSet()
        first.put(owner, "plain", telling)
        second.put(owner, "plain", telling)

        first.remove()
        assert [1, "ours"] == owner.plain(1)
        second.remove()
        assert [1] == owner.plain(1)

    def test_what_did_something_is_not_kept_alive_by_others(self, owner):
        """Somebody may hold ours for as long as the process lives."""

        class Hook:
            def see(self, original):
                return lambda x: [*original(x), self]

        hook, replaced = Hook(), PatchSet()
        replaced.put(owner, "plain", hook.see)
        held, alive = owner.plain, weakref.ref(hook)
        replaced.remove()
        del hook
        gc.collect()

        assert alive() is None
        assert [1] == held(1)
