"""Findings are grouped by what began it, in whatever order they come."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch import LiveWatch, TorchHook, Trial
from stepwatch.judge.parameters import find_rule
from stepwatch.judge.root_cause import LINKS, SIGNS, Chain, StepOrder, chains, sign_of
from stepwatch.judge.verdict import blind_spots
from stepwatch.model.collection import SPECS, STAGES, subject
from stepwatch.model.finding import Finding
from stepwatch.model.record import Layout
from stepwatch.model.subjects import subject_of
from stepwatch.plugins import registry
from stepwatch.rules import RuleStatus
from tests.support.rules.rule_records import info
from tests.support.rules.rule_runs import judge, replay

SIGN_OF = {name: find_rule(name).sign for name in registry.names("stepwatch.rules")}
#: The signs of each rule by patterns of conditions.
DECLARED = {rule: {"*": sign} if isinstance(sign, str) else sign for rule, sign in SIGN_OF.items()}

MODEL = StepOrder(
    [
        Layout(
            tuple(
                info(name, collection)
                for name, collection in (
                    ("first.weight", "weights"),
                    ("last.weight", "weights"),
                    ("output/first", "outputs"),
                    ("output/relu", "outputs"),
                    ("output/last", "outputs"),
                    ("loss/L", "losses"),
                    ("gradient/first.weight", "gradients"),
                    ("gradient/last.weight", "gradients"),
                )
            )
        )
    ]
)


def found(rule, step, tensor="loss/L", **facts):
    return Finding(rule, step, tensor, f"{rule} at {step}", **facts)


def told(chain):
    """Return the rules of a chain, each consequence with whether it is certain."""
    return chain.cause.rule, [(one.finding.rule, one.certain) for one in chain.consequences]


LEARNING_RATE = [
    found("learning_rate_anomaly", 209, "learning_rate/0", condition="jump"),
    found("loss_spike", 201),
    found("grad_norm_spike", 201, "gradient/last.weight", condition="spike"),
    found("non_finite_origin", 204, "output/last", severity="error", evidence={"cause": "output"}),
    found("exploding_tensor", 204, "output/first", severity="error"),
    found("loss_not_decreasing", 300),
]


class TestChains:
    def test_outputs_that_are_zero_from_a_known_step_on_may_follow_from_an_update_before(self):
        """A training that diverged at once is no matter of an overflow in the loss."""
        diverged = found("step_size", 1, condition="diverged", onset=0)
        (chain,) = chains(
            [
                diverged,
                found("non_finite_origin", 1, severity="error", evidence={"cause": "loss"}),
                found("all_zero", 19, "output/first", onset=2),
            ],
            MODEL,
        )
        assert diverged == chain.cause

    def test_a_jump_of_the_learning_rate_explains_what_follows(self):
        """The rule speaks up last, and yet it is the cause."""
        (chain,) = chains(LEARNING_RATE, MODEL)

        assert "learning_rate_anomaly" == chain.cause.rule
        assert 5 == len(chain.consequences)
        assert not any(one.certain for one in chain.consequences)
        assert "error" == chain.severity

    def test_without_its_first_finding_a_chain_begins_with_the_second(self):
        """Within a step the loss is before the gradient."""
        (chain,) = chains(LEARNING_RATE[1:], MODEL)

        assert "loss_spike" == chain.cause.rule

    @given(st.permutations(LEARNING_RATE))
    @settings(max_examples=30, deadline=None)
    def test_the_order_of_the_findings_does_not_matter(self, findings):
        """The same findings give the same chains."""
        assert chains(LEARNING_RATE, MODEL) == chains(findings, MODEL)

    def test_what_is_not_finite_follows_for_certain_from_its_origin(self):
        """In the same step; the origin says where, the other rule that."""
        origin = found("non_finite_origin", 5, "loss/L", evidence={"cause": "loss"})
        (chain,) = chains([found("exploding_tensor", 5, "first.weight"), origin], MODEL)

        assert ("non_finite_origin", [("exploding_tensor", True)]) == told(chain)

    def test_data_that_are_not_finite_are_nobodys_consequence(self):
        """A batch is as it is, whatever the learning rate was before."""
        data = found("non_finite_origin", 204, "input/first/0", evidence={"cause": "data"})

        assert 2 == len(chains([LEARNING_RATE[0], data], MODEL))

    def test_of_another_worker_nothing_is_certain(self):
        """Averaged gradients may bring it; they need not."""
        origin = found("non_finite_origin", 5, "output/last", worker="worker_0")
        other = found("exploding_tensor", 5, "output/last", worker="worker_1")
        (chain,) = chains([origin, other], MODEL)

        assert [("exploding_tensor", False)] == told(chain)[1]

    def test_a_layer_that_was_dead_from_the_start_explains_the_gradients_before_it(self):
        """Though zero outputs are judged from step 10 on only, and gradients from the first."""
        faint = found("vanishing_gradient", 10, "gradient/first.weight")
        (chain,) = chains([faint, found("all_zero", 19, "output/relu")], MODEL)

        assert ("all_zero", [("vanishing_gradient", False)]) == told(chain)

    def test_a_layer_that_dies_later_explains_nothing_before_it(self):
        """What was faint from the first step on has another cause."""
        faint = found("vanishing_gradient", 10, "gradient/first.weight")

        assert 2 == len(chains([faint, found("all_zero", 60, "output/relu")], MODEL))

    def test_weights_that_became_nan_spoil_what_comes_later(self):
        """One batch that was not finite is one cause, however often its traces are found."""
        facts = {"severity": "error", "evidence": {"cause": "previous update"}}
        data = found(
            "non_finite_origin", 86, "input/first", severity="error", evidence={"cause": "data"}
        )
        later = [found("non_finite_origin", step, "first.weight", **facts) for step in (136, 204)]
        (chain,) = chains([data, *later], MODEL)

        assert data == chain.cause

    def test_weights_that_an_explosion_moved_follow_from_it(self):
        """They stand before it in their step: what the optimizer was given made both."""
        stale = found("untrained_parameter", 10, "first.weight", condition="zero_grad", onset=0)
        runaway = found("step_size", 170, condition="diverged", onset=126)
        moved = found("weights_moved", 170, "last.weight", condition="replaced")
        origin = found("non_finite_origin", 170, "output/last", evidence={"cause": "output"})
        later = found("weights_moved", 171, "first.weight", condition="changed")

        (chain,) = chains([moved, later, origin, runaway, stale], MODEL)
        assert stale == chain.cause
        (chain,) = chains([moved, later, origin, runaway], MODEL)
        assert runaway == chain.cause

    def test_a_weight_that_something_else_moved_is_a_cause_of_its_own(self):
        """One of many, or all of them at the very step at which the loss jumps."""
        runaway = found("step_size", 170, condition="diverged", onset=170)
        moved = found("weights_moved", 170, "last.weight", condition="replaced")
        early = replace(runaway, onset=126)
        single = replace(moved, condition="changed")

        assert moved in [one.cause for one in chains([moved, runaway], MODEL)]
        assert single in [one.cause for one in chains([single, early], MODEL)]

    def test_a_training_that_diverges_then_follows_from_it(self):
        """A bit that flipped in a weight is no learning rate that is too high."""
        single = found("weights_moved", 170, "last.weight", condition="changed")
        runaway = found("step_size", 171, severity="error", condition="diverged", onset=170)
        (chain,) = chains([runaway, single], MODEL)

        assert ("weights_moved", [("step_size", False)]) == told(chain)

    def test_what_is_no_warning_is_not_said_to_be_behind_one(self):
        """It would head a chain of warnings, though it may be meant to be so."""
        waits = found("untrained_parameter", 299, "", severity="info", onset=0)
        waits = replace(waits, condition="never_stepped Adam")
        dead = found("all_zero", 19, "output/relu", severity="warning")

        assert 2 == len(chains([waits, dead], MODEL))
        assert 1 == len(chains([replace(waits, severity="warning"), dead], MODEL))

    def test_the_gradient_fades_behind_a_dead_layer_only(self):
        """Backward comes from the loss: what lies after the layer keeps its gradient."""
        dead = found("dead_relu", 20, "active/relu")
        before = found("vanishing_gradient", 21, "gradient/first.weight")
        after = found("vanishing_gradient", 21, "gradient/last.weight")

        assert 1 == len(chains([dead, before], MODEL))
        assert 2 == len(chains([dead, after], MODEL))

    def test_a_parameter_that_is_not_trained_does_not_change(self):
        """That is certain of this parameter, and no link of any other."""
        held = found("untrained_parameter", 9, "last.weight", condition="not_in_optimizer")
        same = found("unchanged_tensor", 30, "last.weight")
        other = found("unchanged_tensor", 30, "first.weight")
        together, alone = chains([held, same, other], MODEL)

        assert ("untrained_parameter", [("unchanged_tensor", True)]) == told(together)
        assert other == alone.cause

    def test_a_rate_of_zero_explains_what_stays_as_it_is(self):
        """Though it takes longer to be said, and the updates are measured first."""
        zero = found("learning_rate_anomaly", 20, "learning_rate/0", condition="zero rate/0")
        still = found("untrained_parameter", 10, "last.weight", condition="unchanged")
        small = found("weight_update_ratio", 0, "last.weight")
        stuck = found("chance_level", 216)
        (chain,) = chains([small, still, zero, stuck], MODEL)

        assert zero == chain.cause

    def test_a_rule_that_says_the_same_of_several_tensors_is_one_chain(self):
        """The first that is executed stands on top."""
        both = [found("attention_instability", 20, f"output/{name}") for name in ("last", "first")]
        (chain,) = chains(both, MODEL)

        assert "output/first" == chain.cause.tensor

    def test_a_spike_explains_nothing_that_comes_much_later(self):
        """An event reaches some steps; a state as long as the run goes."""
        late = found("non_finite_origin", 900, "output/last", evidence={"cause": "output"})

        assert 2 == len(chains([found("loss_spike", 201), late], MODEL))
        assert 1 == len(chains([LEARNING_RATE[0], late], MODEL))

    def test_the_most_severe_chain_comes_first(self):
        """Two causes that have nothing to do with each other are two chains."""
        data = found("data_stall", 3, "loop/data_wait_seconds", severity="info")
        error = found("exploding_tensor", 50, "output/last", severity="error")

        assert ["exploding_tensor", "data_stall"] == [
            chain.cause.rule for chain in chains([data, error], MODEL)
        ]

    @pytest.mark.parametrize(
        "symptom",
        [
            found("overfit", 72),
            found("grad_norm_spike", 42, "gradient/last.weight", condition="spike"),
            found("memory_growth", 300, "memory/rss"),
        ],
        ids=lambda one: one.rule,
    )
    def test_of_one_severity_what_says_what_is_wrong_comes_first(self, symptom):
        """That it began later takes nothing from it; what is worse still stands above it."""
        cause = found("loss_input", 500, condition="labels")
        warned = chains([symptom, cause], MODEL)
        failed = chains([replace(symptom, severity="error"), cause], MODEL)

        assert [cause, symptom] == [chain.cause for chain in warned]
        assert symptom.rule == failed[0].cause.rule

    def test_a_finding_is_ranked_by_when_it_began_where_its_rule_knows(self):
        """Though the evaluation could only be judged long after the loss had risen."""
        drift = found("input_drift", 308, "batch/0", condition="evaluated batch/0", onset=12)
        apart = found("chance_level", 480, condition="held_out", onset=12)
        (chain,) = chains([found("overfit", 72), apart, drift], MODEL)

        assert ("input_drift", [("chance_level", False), ("overfit", False)]) == told(chain)

    def test_a_state_that_is_not_passed_on_explains_a_rate_of_zero(self):
        """What a script is made of is so from its first step on, whenever it is said."""
        same = found("setup", 40, condition="same_state train_step")
        zero = found("learning_rate_anomaly", 20, "learning_rate/0", condition="zero rate/0")
        still = found("untrained_parameter", 10, "last.weight", condition="unchanged")
        (chain,) = chains([zero, still, same], MODEL)

        assert same == chain.cause

    @pytest.mark.parametrize("condition", ["zero_grad", "not_in_optimizer"])
    def test_dead_units_follow_from_gradients_that_add_up_and_from_layers_not_trained(
        self, condition
    ):
        """Though nothing else was found on the way."""
        cause = found("untrained_parameter", 10, "first.weight", condition=condition)
        (chain,) = chains([found("all_zero", 327, "output/relu"), cause], MODEL)

        assert cause == chain.cause

    def test_layers_that_die_after_the_prediction_collapsed_follow_from_that(self):
        """Nothing trains what the prediction no longer depends on; and the other way round."""
        same = found("chance_level", 400, "prediction/loss", condition="same loss")
        late = found("all_zero", 858, "output/encoder.1", onset=849)
        early = found("all_zero", 108, "output/encoder.1", onset=99)

        assert [("chance_level", [("all_zero", False)])] == [
            told(one) for one in chains([late, same], MODEL)
        ]
        assert [("all_zero", [("chance_level", False)])] == [
            told(one) for one in chains([early, same], MODEL)
        ]

    def test_an_eps_that_outweighs_the_gradients_of_dead_units_follows_from_them(self):
        """And is told first where nothing else makes gradients small."""
        dead = found("all_zero", 19, "output/dropout", onset=0)
        eps = found("stale_optimizer_state", 30, "update_rms/fc.weight", condition="epsilon")
        still = found("step_size", 200, condition="small")

        assert [("all_zero", [("stale_optimizer_state", False)])] == [
            told(one) for one in chains([eps, dead], MODEL)
        ]
        (chain,) = chains([still, eps], MODEL)
        assert eps == chain.cause
        assert "eps" in chain.confirm("r")

    def test_a_metric_that_counts_what_labels_are_not_follows_from_these_labels(self):
        """One mistake is told once."""
        labels = found("loss_input", 4, condition="labels")
        (chain,) = chains([found("setup", 20, condition="metric accuracy"), labels], MODEL)

        assert labels == chain.cause

    def test_a_rule_of_ones_own_stands_for_itself(self):
        (chain,) = chains([found("my_rule", 3, "")])

        assert Chain(found("my_rule", 3, "")) == chain
        assert "stepwatch replay r --step 3" in chain.confirm("r")

    @given(
        st.lists(
            st.builds(
                found,
                st.sampled_from([*DECLARED, "my_rule"]),
                st.integers(0, 400),
                st.sampled_from(["loss/L", "gradient/first.weight", "output/relu", ""]),
                worker=st.sampled_from(["", "worker_0", "worker_1"]),
            ),
            max_size=40,
        )
    )
    @settings(max_examples=100, deadline=None)
    def test_every_finding_is_in_one_chain(self, findings):
        """None is lost, none is told twice."""
        members = [one.finding_id for chain in chains(findings, MODEL) for one in chain.findings]

        assert sorted({one.finding_id for one in findings}) == sorted(members)

    @pytest.mark.slow
    def test_many_findings_are_grouped_in_no_time(self):
        """A rule that fires at every step must not hang whoever looks at it."""
        rules = ("loss_spike", "exploding_tensor", "dead_relu", "unchanged_tensor")
        many = [found(rule, step, f"{step}.weight") for step in range(1000) for rule in rules]
        began = time.process_time()
        chains(many)

        assert time.process_time() - began < 5

    def test_live_and_replay_tell_the_same_chains(self, tmp_path):
        """From the findings and the layouts of a real training."""
        run = tmp_path / "run"
        rules = "non_finite_origin; exploding_tensor; untrained_parameter; loss_spike"
        lines, _ = judge(_faulty, rules, run)
        again, _ = replay(run, rules, follow=False)
        layouts = [record.layout for records in Trial(run).records() for record in records]
        live = [Finding.from_json(line) for line in lines]
        random.Random(0).shuffle(live)
        random.Random(1).shuffle(layouts)

        first, second = chains(live, StepOrder(layouts))
        assert ("non_finite_origin", [("exploding_tensor", True)]) == told(first)
        assert ("untrained_parameter", []) == told(second)
        assert [first, second] == chains(
            [Finding.from_json(line) for line in again], StepOrder(reversed(layouts))
        )

    def test_a_step_is_told_with_the_cause_first(self, tmp_path):
        """Whatever the order of the rules; what is stored keeps that order."""
        told = []
        live = LiveWatch("exploding_tensor; non_finite_origin", told.append)
        with TorchHook(run=tmp_path / "run", listeners=[live], say=lambda line: None):
            _faulty()

        assert ["non_finite_origin", "exploding_tensor"] == [finding.rule for finding in told]
        assert ["exploding_tensor", "non_finite_origin"] == [one.rule for one in live.findings]


def _faulty():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model[0].parameters(), lr=0.01)
    inputs = torch.randn(8, 4)
    for step in range(20):
        if step == 15:
            inputs[0, 0] = torch.nan
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), torch.ones(8, 1)).backward()
        optimizer.step()


class TestSigns:
    def test_every_sign_is_that_of_a_rule_and_every_rule_has_one(self):
        declared = {sign for signs in DECLARED.values() for sign in signs.values()}

        assert {*SIGNS} == declared

    def test_links_lead_from_sign_to_sign(self):
        ends = {end for link in LINKS for end in (link.cause, link.effect)}

        assert set() == ends - {*SIGNS}

    @pytest.mark.parametrize("name", SIGNS)
    def test_every_sign_says_what_would_confirm_it(self, name):
        """One line, with every place filled; what is set up is said by the finding itself."""
        rule, condition = next(
            (rule, pattern.replace("*", " 0"))
            for rule, signs in DECLARED.items()
            for pattern, sign in signs.items()
            if sign == name
        )
        chain = Chain(found(rule, 12, "output/relu", mode_step=7, condition=condition))
        line = chain.confirm("runs/a")

        assert name == sign_of(chain.cause)
        assert (name != "setup") == bool(line)
        assert not {"{", "}", "\n"} & {*line}

    def test_what_the_run_holds_is_looked_at(self):
        """The prediction that a loss is given need not be saved again where the run has it."""
        chain = Chain(found("loss_input", 4, "prediction/L", condition="labels prediction/L"))

        assert "--save labels:raw" in chain.confirm("r")
        assert chain.confirm("r", script="train.py --epochs 3").endswith(" train.py --epochs 3")
        assert chain.confirm("r", tensors={"prediction/L"}).endswith(
            "stepwatch show r --tensor 'prediction/L'"
        )

    @pytest.mark.parametrize("rule", ["untrained_parameter", "exploding_tensor", "setup"])
    def test_no_step_is_better_than_one_that_confirms_nothing(self, rule):
        """As of a tensor that the run does not hold, where no step can be run again."""
        chain = Chain(found(rule, 4, "fc.weight"))

        assert "" == chain.confirm("r", frozenset(), tensors={"loss/L"})

    def test_a_rule_that_was_asked_for_twice_is_the_same_sign(self):
        assert "spike" == sign_of(found("loss_spike-2", 5))


class TestPlaces:
    @pytest.mark.parametrize(
        ("tensor", "about"),
        [
            ("gradient/fc.weight", "fc.weight"),
            ("quantiles/gradient/fc.weight", "fc.weight"),
            ("inside/block.act/tanh", "block.act"),
            ("input/fc/0", "fc"),
            ("fc.weight", "fc.weight"),
        ],
    )
    def test_names_tell_what_a_tensor_is_about(self, tensor, about):
        assert about == subject(tensor)

    @pytest.mark.parametrize(
        ("tensor", "words"),
        [
            ("loss/loss", "loss"),
            ("supervision/loss", "loss"),
            ("prediction/cross_entropy", "prediction of loss cross_entropy"),
            ("gradient/fc.weight", "gradient of fc.weight"),
            ("optimizer/gradient_norm_before_clipping", "gradient norm before clipping"),
            ("optimizer/skipped", "the optimizer"),
        ],
    )
    def test_a_finding_is_about_what_people_know(self, tensor, words):
        """Not where it is kept; and what is called as it is, is said once."""
        assert words == subject_of(tensor).words

    @pytest.mark.parametrize("name", sorted(SPECS.keys() - {"tensors"}))
    def test_every_collection_has_a_stage(self, name):
        """What has none would come last, and never be the cause of anything."""
        assert SPECS[name].stage in STAGES

    def test_dependence_comes_before_what_follows_from_it(self):
        """A prediction that ignores its input is the cause of a loss that does not fall."""
        cause = Finding("dependence", 20, "dependence/cross_entropy", "ignores its input")
        effect = Finding("loss_not_decreasing", 20, "loss/cross_entropy", "does not fall")

        (chain,) = chains([effect, cause])

        assert cause == chain.cause

    def test_stages_follow_each_other(self):
        """The weights of a step are those from before it."""
        tensors = ("learning_rate/0", "last.weight", "input/first/0", "output/last", "loss/L",
                   "gradient/last.weight", "update_ratio/last.weight")  # fmt: skip

        assert list(range(len(STAGES) - 1)) == [MODEL.stage(tensor) for tensor in tensors]


class TestUnchecked:
    STATUSES = (
        RuleStatus("learning_rate_anomaly", "NotEvaluated", 0, 0, "no learning rate was seen"),
        RuleStatus("overfit", "NotEvaluated", 0, 0, "no evaluation"),
        RuleStatus("loss_spike", "IssuesFound", 9, 1, ""),
    )

    def test_it_names_what_could_hold_an_earlier_cause(self):
        """Not what can only follow, as overfitting."""
        chain = Chain(found("loss_spike", 5))
        installed = ("stale_gradients", "overfit", "loss_spike")
        gaps = blind_spots(chain, self.STATUSES, MODEL, workers_not_seen=1, installed=installed)

        assert (("learning_rate_anomaly", "no learning rate was seen"),) == gaps.could_not_judge
        assert ("stale_gradients",) == gaps.not_asked
        assert ("learning_rates", "inputs") == gaps.not_captured
        assert [
            "learning_rate_anomaly lacked data: no learning rate was seen",
            "not asked: stale_gradients",
            "not captured: learning_rates, inputs",
            "1 worker was not seen",
        ] == gaps.lines()
