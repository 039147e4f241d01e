"""Large runs: few requests, whatever the size; the benchmark itself, on small ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCH = Path(__file__).parents[1] / "bench"


@pytest.fixture
def scale(monkeypatch):
    """The benchmark as a module; what it imports lies beside it."""
    monkeypatch.syspath_prepend(str(BENCH))
    import scale

    yield scale
    for name in ("scale", "scale_run"):
        sys.modules.pop(name, None)


class TestScale:
    def test_each_question_is_answered_by_few_requests(self, scale, tmp_path):
        """A tensor by one request a part and a few for its name, a step by that of one part."""
        scale.write_run(tmp_path, 4_500, 100)
        parts = len(list(tmp_path.rglob("*.parquet")))
        name = scale.tensor_name(40)

        curve = scale.ask(str(tmp_path), 0, "curve", name)
        step = scale.ask(str(tmp_path), 0, "step", 3_456)

        assert (4_500, 100) == (curve["found"], step["found"])
        assert curve["answer_requests"] <= 2 * parts
        assert step["answer_requests"] <= 2
        assert max(curve["peak_mb"], step["peak_mb"]) < 500
