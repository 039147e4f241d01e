"""Specs: what people write, and what they are told when it cannot be meant."""

from __future__ import annotations

import pytest

from stepwatch.errors import ConfigError
from stepwatch.judge.parameters import split_list
from stepwatch.judge.rule import required_captures
from stepwatch.rules import DEFAULT_RULES, Scope, parse_rules


class TestParseRules:
    @pytest.mark.parametrize(
        "name", ["vanishing_gradient", "VanishingGradient", "VANISHINGGRADIENT"]
    )
    def test_a_name_resolves_in_any_case(self, name):
        assert ["vanishing_gradient"] == [watched.name for watched in parse_rules(name)]

    def test_values_become_what_the_constructor_asks_for(self):
        (watched,) = parse_rules(
            "loss_not_decreasing:num_steps=20,diff_percent=1,mode=eval,use_losses_collection=No,"
            "tensor_regex=a{1,2},b|c,converged_loss=none,start_step=5,severity=info"
        )
        rule = watched.rule
        assert (20, 1.0, "EVAL", None) == (
            rule.num_steps,
            rule.diff_percent,
            rule.mode,
            rule.converged_loss,
        )
        assert ("a{1,2}", "b|c") == rule.tensor_regex
        assert Scope(start_step=5, severity="info") == watched.scope

    def test_a_parameter_of_the_rule_itself_wins_over_the_common_one(self):
        (watched,) = parse_rules("overfit:start_step=7")
        assert (7, 0) == (watched.rule.start_step, watched.scope.start_step)

    def test_several_specs_in_one_text_or_in_a_list(self):
        both = ["loss_spike", "overfit"]
        assert both == [w.name for w in parse_rules("loss_spike:k=9; overfit;")]
        assert both == [w.name for w in parse_rules(both)]

    def test_a_dict_of_strings_as_sagemaker_has_it(self):
        (watched,) = parse_rules([{"rule_to_invoke": "LossSpike", "window": "32", "k": 9}])
        assert (32, 9.0) == (watched.rule.window, watched.rule.k)

    def test_a_rule_asked_for_twice_gets_a_number(self):
        names = [watched.name for watched in parse_rules("loss_spike;loss_spike:k=20")]
        assert ["loss_spike", "loss_spike-2"] == names

    def test_a_rule_from_a_file_of_ones_own(self, tmp_path):
        (tmp_path / "mine.py").write_text(
            "class Mine:\n    name = 'mine'\n    needs = ()\n"
            "    def __init__(self, limit: int = 3): self.limit = limit\n"
            "    def check(self, step): return ()\n"
        )
        (watched,) = parse_rules(f"{tmp_path}/mine.py:Mine:limit=5,end_step=9")
        assert ("mine", 5, 9) == (watched.name, watched.rule.limit, watched.scope.end_step)

    def test_the_default_rules_ask_for_derivatives_at_six_steps_and_nothing_else(self):
        """What they cost beside is what capturing costs."""
        (asked,) = required_captures(parse_rules(DEFAULT_RULES))

        assert "derivatives:statistics:steps=5+9+20+100+500+2000+10000" == asked

    def test_no_default_rule_is_named_twice(self):
        watched = parse_rules(DEFAULT_RULES)
        assert len(watched) == len({one.rule.name for one in watched})

    @pytest.mark.parametrize(
        ("spec", "told"),
        [
            ("loss_spik", "did you mean loss_spike,"),
            ("loss_spike:windw=3", "did you mean window"),
            ("loss_spike:windw=3", "accepted: window=64"),
            ("loss_spike:windw=3", "on every rule: start_step=0"),
            ("loss_spike:window=x", "loss_spike: window must be a whole number, got 'x'"),
            ("loss_spike:window=1.5", "a whole number"),
            ("loss_spike:window=1", "window must be at least 4, got 1"),
            ("loss_spike:k=nan", "k must be above 0"),
            ("loss_spike:window", "is not parameter=value"),
            ("loss_spike:include_regex=(", "does not compile"),
            ("loss_spike:on_fire=explode", "on_fire must be one of continue, stop"),
            ("loss_spike:start_step=5,end_step=5", "end_step (5) must be above start_step (5)"),
            ("loss_spike:min_evaluations=0", "at least 1"),
            ("exploding_tensor:only_nan=maybe", "only_nan must be true or false"),
            ("vanishing_gradient:relative_to=mean", "median or largest or none"),
            (
                "loss_not_decreasing:mode=TRAINING",
                "TRAIN or EVAL or PREDICT or GLOBAL or none, got",
            ),
            ("all_zero", "all_zero: say which tensors"),
            ("all_zero:collection_names=weights,threshold=101", "at most 100"),
            ("nowhere.py:Rule", "there is no rule file nowhere.py"),
        ],
    )
    def test_an_error_is_one_line_that_names_what_would_be_right(self, spec, told):
        with pytest.raises(ConfigError) as caught:
            parse_rules(spec)
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_dict_needs_a_name(self):
        with pytest.raises(ConfigError, match="needs the key 'rule'"):
            parse_rules([{"window": "3"}])

    def test_a_file_without_the_class_lists_its_rules(self, tmp_path):
        (tmp_path / "mine.py").write_text(
            "class Mine:\n    name = 'm'\n    def check(self, s): ...\n"
        )
        with pytest.raises(ConfigError, match=r"no rule Other; .*there are Mine"):
            parse_rules(f"{tmp_path}/mine.py:Other")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a,b", ("a", "b")),
        ("a{1,3}", ("a{1,3}",)),
        ("[,x],(a|b,c)", ("[,x]", "(a|b,c)")),
        (r"a\[,b", (r"a\[", "b")),
        ("", ()),
    ],
)
def test_commas_in_brackets_do_not_separate(text, parts):
    assert parts == split_list(text)
