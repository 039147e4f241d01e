"""``stepwatch mcp``, driven by the client of the official SDK over stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from stepwatch.testing import make_run

mcp = pytest.importorskip("mcp")
pytestmark = pytest.mark.framework


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two runs, of which one has a weight that explodes."""
    import numpy as np

    from stepwatch.formats import RunTarget, open_writer
    from stepwatch.formats.manifest import End, Manifest
    from stepwatch.store import open_store
    from stepwatch.testing import make_record

    root = tmp_path_factory.mktemp("runs")
    make_run(root / "good", steps=20)
    writer = open_writer(RunTarget(open_store(root / "bad"), "worker_0", Manifest("bad", 1)))
    for step in range(20):
        value = np.full(3, np.nan if step >= 12 else 1.0)
        writer.write(make_record(step, {"loss/mse_loss": 1.0, "fc.weight": value}))
    writer.close(End("finished", 2))
    make_run(root.parent / "outside", steps=2)
    return root


@pytest.fixture
def session(folder):
    """Return a function that calls tools in one session: their names, and what each answered."""

    def run(*calls, arguments=()):
        async def drive():
            from mcp.client.session import ClientSession
            from mcp.client.stdio import StdioServerParameters, stdio_client

            server = StdioServerParameters(
                command=sys.executable, args=["-m", "stepwatch", "mcp", str(folder), *arguments]
            )
            async with stdio_client(server) as streams, ClientSession(*streams) as client:
                await client.initialize()
                tools = (await client.list_tools()).tools
                return tools, [await client.call_tool(name, given) for name, given in calls]

        tools, answers = asyncio.run(drive())
        return tools, [
            (bool(one.is_error), one.content[0].text if one.is_error else one) for one in answers
        ]

    return run


def value(answer):
    """Return what a tool answered, as data."""
    is_error, result = answer
    assert not is_error, result
    return result.structured_content or json.loads(result.content[0].text)


class TestMcp:
    def test_an_agent_finds_the_cause_from_nothing(self, session):
        """It lists, judges, looks at the chain and at the tensor that it names."""
        rules = {"rules": "exploding_tensor"}
        tools, answers = session(
            ("runs", {}),
            ("verdict", {"run": "bad", **rules}),
            ("causes", {"run": "bad", **rules}),
            ("series", {"run": "bad", "tensor": "fc.weight", "statistic": "nan", "most": 5}),
            ("parts", {"run_a": "good", "run_b": "bad"}),
            ("tensors", {"run": "bad"}),
        )
        listed, verdict, chain, series, parts, tensors = map(value, answers)

        assert all(tool.annotations.read_only_hint for tool in tools)
        assert "replay" not in [tool.name for tool in tools]
        assert ["bad", "good"] == [one["run"] for one in listed["runs"]]
        assert [("exploding_tensor", 12)] == [(c["rule"], c["step"]) for c in verdict["causes"]]
        assert ("ROLL_BACK", 12) == (verdict["advice"]["word"], verdict["advice"]["step"])
        assert ("fc.weight", True) == (chain["cause"]["tensor"], "confirm" in chain)
        assert [0, 0, 0, 3, 3] == series["fc.weight"]["nan"]
        assert "weights" == tensors["fc.weight"]
        assert parts

    def test_only_runs_below_the_folder_can_be_named(self, session):
        """And what is no run is one line, as for people."""
        _, answers = session(
            ("verdict", {"run": "../outside"}),
            ("verdict", {"run": "nothing"}),
            ("series", {"run": "bad", "tensor": "--plot=/tmp/x"}),
            ("verdict", {"run": "good", "rules": "no_such_rule"}),
        )

        assert [True] * 4 == [is_error for is_error, _ in answers]
        assert "is not below" in answers[0][1]
        assert "no run at" in answers[1][1]
        assert "no_such_rule" in answers[3][1]

    def test_replay_is_offered_where_it_is_allowed(self, session):
        """It runs scripts, so it is no tool that only reads."""
        tools, answers = session(("replay", {"run": "good", "step": 3}),
                                 arguments=["--allow-replay"])  # fmt: skip
        hints = {tool.name: tool.annotations.read_only_hint for tool in tools}

        assert hints["verdict"]
        assert not hints["replay"]
        assert answers[0][0]  # a run that was made to order has no black box
