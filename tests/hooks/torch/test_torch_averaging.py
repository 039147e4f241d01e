"""Replicas that train alone, parameters that nobody averages, and gradients clipped in parts."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn

from stepwatch.formats.findings import read_findings
from stepwatch.judge.evaluate import evaluate
from stepwatch.judge.root_cause import chains
from stepwatch.model.finding import Finding
from stepwatch.store import open_store
from tests.support.hooks.torch.rank_averaging import LATE, MAX_NORM
from tests.support.hooks.torch.ranks_fixture import HERE, TIMEOUT_S, start, train

RULE = "replica_divergence"
PROGRAM = "rank_averaging.py"
HEALTHY = (
    "wrapped",
    "static_graph",
    "checkpointed",
    "unused",
    "accumulated",
    "accumulated_by_attribute",
    "local_sgd",
    "local_sgd_in_wrapper",
    "post_local_sgd",
    "by_hand",
    "by_hand_at_once",
    "parameters_by_hand",
    "losses_by_hand",
    "by_hand_in_wrapper",
    "evaluated",
    "two_models",
    "together",
    "wrapped_anew",
    "clipped",
    "clipped_by_hand",
)
FAULTY = (
    "bypassed",
    "bypassed_later",
    "unwrapped",
    "one_bypassed",
    "added",
    "replaced",
    "unfrozen",
    "skipped",
    "never_wrapped",
    "discarded",
    "discarded_at_once",
    "added_to_parts",
    "clipped_with_own_norm",
    "clipped_by_own_hand",
)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """Every training, in two processes."""
    return train(tmp_path_factory.mktemp("averaging"), 2, *HEALTHY, *FAULTY, program=PROGRAM)


@pytest.fixture
def findings(ranks):
    """Return what is found in a training."""
    return lambda name: evaluate(ranks.trial(name), [RULE]).findings


def scalar(ranks, name, number, worker="worker_0"):
    return ranks.trial(name).tensor(f"loop/{number}").statistics(worker=worker)["mean"].tolist()


@pytest.mark.slow
class TestHealthy:
    @pytest.mark.parametrize("name", HEALTHY)
    def test_nothing_is_found(self, findings, name):
        """However the gradients, or the parameters, are averaged."""
        assert [] == [str(finding) for finding in findings(name)]

    def test_gradients_are_counted_by_what_becomes_of_them(self, ranks):
        """All four of the model; a process alone, or without a wrapper, has no such numbers."""
        names = ranks.trial("by_hand").tensor_names(collection="loop")

        assert {4.0} == set(scalar(ranks, "accumulated", "averaged_gradients"))
        assert {4.0} == set(scalar(ranks, "local_sgd_in_wrapper", "local_gradients"))
        assert {4.0} == set(scalar(ranks, "post_local_sgd", "local_gradients"))
        assert [] == [name for name in names if name.endswith("_gradients")]


class TestOneProcess:
    def test_a_wrapper_of_one_process_is_let_be(self, watched):
        """Also one that was made before the hook: there is nobody to average with."""
        store = torch.distributed.HashStore()
        torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
        try:
            model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
            with watched() as seen:
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                for _ in range(3):
                    model.module(torch.ones(3, 2)).sum().backward()
                    optimizer.step()
            del model, optimizer  # torch may abort when a group goes before what works with it
        finally:
            torch.distributed.destroy_process_group()

        assert "loop/backwards" in seen.infos()
        assert [] == [
            name for name in seen.infos() if name.startswith("loop/") and "gradients" in name
        ]


@pytest.mark.slow
class TestReplicasThatTrainAlone:
    @pytest.mark.parametrize(
        ("name", "since"), [("bypassed", 0), ("bypassed_later", LATE), ("unwrapped", 0)]
    )
    def test_a_wrapper_that_is_not_called_is_named_at_the_second_step(self, findings, name, since):
        """Before parameters are known to differ for good, which then follows from it."""
        found = findings(name)
        (chain,) = chains(found)

        assert [("unaveraged", since + 1)] == [(f.condition, f.step) for f in found[:1]]
        assert ["unaveraged", "diverged"] == [one.condition for one in chain.findings]
        assert ["body.weight", "body.bias", "head.weight", "head.bias"] == [
            *chain.cause.evidence["parameters"]
        ]

    def test_of_two_models_the_one_is_named_whose_wrapper_is_not_called(self, findings):
        """The gradients of the other are averaged."""
        found = findings("one_bypassed")[0]

        assert ("unaveraged", 1, 4.0) == (found.condition, found.step, found.value)

    @pytest.mark.parametrize(
        ("name", "parameters"),
        [
            ("added", ["added.weight", "added.bias"]),
            ("replaced", ["head.weight", "head.bias"]),
            ("unfrozen", ["body.weight", "body.bias"]),
        ],
    )
    def test_parameters_that_the_wrapper_does_not_know_are_named(self, findings, name, parameters):
        """It knows those that it found when it was made, if gradients were wanted for them."""
        (chain,) = chains(findings(name))

        assert ("unregistered", 1) == (chain.cause.condition, chain.cause.step)
        assert parameters == [*chain.cause.evidence["parameters"]]

    @pytest.mark.parametrize("name", ["discarded", "discarded_at_once"])
    def test_means_of_copies_that_nobody_uses_are_named(self, findings, name):
        """Of each gradient, or of all in one tensor; that replicas part follows from it."""
        (chain,) = chains(findings(name))

        assert ("discarded", 5, "error") == (
            *(chain.cause.condition, chain.cause.step, chain.cause.severity),
        )

    def test_a_step_that_one_leaves_out_is_found_at_the_second_step_after_it(self, findings):
        """Gradients are averaged, so there is no innocent reason to differ."""
        found = findings("skipped")[0]

        assert ("diverged", LATE + 2, "error") == (found.condition, found.step, found.severity)

    def test_a_layer_that_is_whole_in_a_model_in_parts_is_found(self, findings):
        """The gradients of the others are averaged in being cut."""
        (found,) = findings("added_to_parts")

        assert ("diverged", 5, "error") == (found.condition, found.step, found.severity)
        assert "added.weight" in found.evidence["parameters"]

    def test_a_model_that_was_never_wrapped_is_waited_for(self, findings):
        """Its parameters may be averaged every so many steps."""
        (found,) = findings("never_wrapped")

        assert ("diverged", 50, "warning") == (found.condition, found.step, found.severity)


@pytest.mark.slow
class TestClippedParts:
    @pytest.mark.parametrize("name", ["clipped_with_own_norm", "clipped_by_own_hand"])
    def test_clipping_by_the_norm_of_a_part_is_found_at_the_second_step(self, findings, name):
        """Whether torch was given that norm, or the script scales by itself."""
        (found,) = findings(name)

        assert ("clipped_by_part", 1, "error") == (found.condition, found.step, found.severity)
        assert pytest.approx(MAX_NORM, rel=1e-3) == found.value
        assert pytest.approx(MAX_NORM * 2**0.5, rel=1e-3) == found.threshold


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--companion",)], ids=["thread", "companion"])
def test_stepwatch_run_says_it_while_the_training_goes_on(tmp_path, options):
    """In the first process, which ends the training only once it has."""
    run = ("-m", "stepwatch", "run", "--run", tmp_path / "run", *options)
    script = HERE / PROGRAM, tmp_path, "plain", "bypassed_until_said"
    processes = start("-X", 2, "utf8", *run, *script)
    give_up = threading.Timer(TIMEOUT_S, lambda: [one.kill() for one in processes])
    give_up.start()
    try:
        lines = []
        for line in processes[0].stderr:
            lines.append(line)
            if RULE in line:
                (tmp_path / "over").touch()
        codes = [process.wait() for process in processes]
    finally:
        give_up.cancel()
        for process in processes:
            process.kill()
            process.communicate()
    found = [Finding.from_json(line) for line in read_findings(open_store(tmp_path / "run"))]
    of_rule = [one for one in found if one.rule == RULE]

    assert [0, 0] == codes, lines
    assert ("unaveraged", 1) == (of_rule[0].condition, of_rule[0].step)
    assert "unaveraged" == chains(found)[0].cause.condition, lines
