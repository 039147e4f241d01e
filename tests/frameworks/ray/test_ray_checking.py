"""Runs judged on a Ray cluster, as ``stepwatch check --ray`` does it."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from threading import Thread

import pytest
import ray

from stepwatch.cli.main import main
from stepwatch.errors import ClusterUnavailable, RunNotFound
from stepwatch.jobs.ray.cluster import num_cpus, spread
from stepwatch.testing import make_run
from tests.support.frameworks.ray.ray_cluster import cluster

__all__ = ["cluster"]

pytestmark = [pytest.mark.framework, pytest.mark.timeout(300)]

RULES = "exploding_tensor; loss_not_decreasing:num_steps=5; loss_spike; overfit; vanishing_gradient"
OFTEN = """\
from stepwatch import Finding, Rule

class Often(Rule):
    name = "often"

    def check(self, step):
        if step.number % 3 == 0:
            yield Finding(self.name, step.number, "fc.weight", "again", condition=str(step.number))
"""


@pytest.fixture
def check(capsys):
    """Return a function that checks runs, and returns the exit status and what was printed."""

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["check", *map(str, arguments)])
        told = capsys.readouterr()
        return end.value.code or 0, told.out, told.err

    return run


@pytest.fixture
def rules(tmp_path):
    (tmp_path / "often.py").write_text(OFTEN)
    return "--rules", f"{RULES}; {tmp_path / 'often.py'}:Often"


def runs_in(folder: Path, number: int) -> list[Path]:
    made = [folder / f"run-{one}" for one in range(number)]
    for one, path in enumerate(made):
        make_run(path, steps=20 + one)
    return made


class TestChecking:
    def test_one_run_is_judged_as_on_one_machine(self, cluster, check, rules, tmp_path):
        """Its rules are shared among the nodes; the document is the same to the last byte."""
        (run,) = runs_in(tmp_path, 1)
        alone = check(run, *rules, "--json")
        spread_out = check(run, *rules, "--json", "--ray")

        assert alone == spread_out
        assert 1 == alone[0]
        assert 2 == num_cpus(ray)

    def test_many_runs_are_judged_as_on_one_machine(self, cluster, check, rules, tmp_path):
        """In the order in which they were asked for, for people and for machines."""
        runs = runs_in(tmp_path, 5)

        assert check(*runs, *rules, "--json") == check(*runs, *rules, "--json", "--ray")
        assert check(*runs, *rules) == check(*runs, *rules, "--ray")
        documents = json.loads(check(*runs, *rules, "--json", "--ray")[1])["runs"]
        assert [20, 21, 22, 23, 24] == [one["steps"] for one in documents]

    def test_a_fleet_is_judged_as_on_one_machine(self, cluster, check, rules, tmp_path):
        """One of its runs cannot be read, which is told with the others."""
        runs_in(tmp_path / "fleet", 12)
        (tmp_path / "fleet/torn").mkdir()
        (tmp_path / "fleet/torn/run.json").write_text("{")
        asked = (tmp_path / "fleet", *rules)

        assert check(*asked) == check(*asked, "--ray")
        assert check(*asked, "--json") == check(*asked, "--json", "--ray")
        assert 2 == check(*asked, "--ray")[0]

    def test_a_rule_that_is_there_for_nobody_is_refused_before_any_work(
        self, cluster, check, tmp_path
    ):
        status, out, err = check(*runs_in(tmp_path, 1), "--rules", "los_spike", "--ray")

        assert (2, "", 1) == (status, out, len(err.splitlines()))
        assert "loss_spike" in err


class TestNoCluster:
    def test_it_is_said_in_one_line_with_the_way_out(self, check, monkeypatch, tmp_path):
        """Nothing is begun in its place.

        Ray looks for clusters of the whole machine, so that it is told here that there is none.
        """
        (run,) = runs_in(tmp_path, 1)

        def absent(**_):
            raise ConnectionError("Could not find any running Ray instance.")

        monkeypatch.setattr(ray, "is_initialized", lambda: False)
        monkeypatch.setattr(ray, "init", absent)
        status, out, err = check(run, "--ray")

        assert (2, "", 1) == (status, out, len(err.splitlines()))
        assert "ray start --head" in err


class TestSpread:
    def test_the_nodes_do_the_work(self, cluster, tmp_path):
        """None of it is done in this process, and more than one node takes part."""
        nodes = dict(spread(where, [(number, str(tmp_path)) for number in range(6)]))

        assert [*range(6)] == sorted(nodes)
        assert 2 == len({node for node, _ in nodes.values()})
        assert os.getpid() not in {process for _, process in nodes.values()}

    def test_what_a_call_raises_is_raised_here(self, cluster):
        """As it is, and not wrapped in something of Ray's."""
        with pytest.raises(RunNotFound) as caught:
            list(spread(fail, [(1,), (2,)]))

        assert RunNotFound is type(caught.value)

    def test_a_call_whose_process_is_killed_is_made_again(self, cluster, tmp_path):
        """Its work changed nothing, so it may."""
        assert [(0, 2)] == list(spread(die_once, [(str(tmp_path / "died"),)]))

    def test_a_node_that_is_lost_is_named_and_what_it_did_is_done_again(
        self, cluster, tmp_path, capsys
    ):
        """Nothing of that stands on standard output, where a verb may print JSON."""
        added = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        said, calls = [], [(str(tmp_path), number) for number in range(12)]

        def lose():
            while not (tmp_path / added.node_id).exists():
                time.sleep(0.05)
            cluster.remove_node(added, allow_graceful=False)
            while any(one["Alive"] and one["NodeID"] == added.node_id for one in ray.nodes()):
                time.sleep(0.05)
            (tmp_path / "go").touch()

        losing = Thread(target=lose)
        losing.start()
        done = dict(spread(wait_to_go, calls, said.append))
        losing.join()

        assert {number: number for number in range(12)} == done
        assert 1 == len(said)
        assert added.node_id[:8] in said[0]
        assert "" == capsys.readouterr().out

    def test_a_call_that_always_dies_is_an_error_of_one_line(self, cluster):
        with pytest.raises(ClusterUnavailable, match="lost who did the work"):
            list(spread(die, [()]))


def where(number, folder):
    """Return where it runs, once a second call runs as well: a node takes one at a time."""
    (Path(folder) / str(number)).touch()
    patience = time.monotonic() + 60
    while len(os.listdir(folder)) < 2 and time.monotonic() < patience:
        time.sleep(0.05)
    return ray.get_runtime_context().get_node_id(), os.getpid()


def wait_to_go(folder, number):
    """Return a number, once that is asked for."""
    (Path(folder) / ray.get_runtime_context().get_node_id()).touch()
    while not (Path(folder) / "go").exists():
        time.sleep(0.05)
    return number


def fail(number):
    raise RunNotFound(f"no run {number}")


def die_once(note):
    if Path(note).exists():
        return 2
    Path(note).touch()
    return os.kill(os.getpid(), signal.SIGKILL)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


# What is called on a node is brought there by value: this module is not importable from there.
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
