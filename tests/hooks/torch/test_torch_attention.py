"""What sampled queries look at, and how sharply."""

from __future__ import annotations

import math
import pickle
import sys
import types

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.nn.attention.bias import causal_lower_right
from torch.utils.checkpoint import checkpoint

from stepwatch.hooks.torch.attention_rows import MOST_ROWS, attention_rows, score_rows
from tests.support.hooks.torch.trainings import inputs

EVERY = "attention:statistics:every=1"
RAW = "attention:raw"
ORIGINAL = F.scaled_dot_product_attention
SOFTMAX = F.softmax.__code__


class Heads(nn.Module):
    """Attention as most models have it."""

    def __init__(self, attend=None, **options):
        super().__init__()
        torch.manual_seed(0)
        self.qkv = nn.Linear(8, 24)
        self.attend = attend
        self.options = options

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        attend = self.attend or F.scaled_dot_product_attention
        return attend(q, k, v, **self.options).transpose(1, 2).flatten(2)


class Model(nn.Module):
    def __init__(self, *parts):
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


class Weighing(nn.Module):
    """``nn.MultiheadAttention`` as it is used by itself."""

    def __init__(self, **options):
        super().__init__()
        torch.manual_seed(0)
        self.mixed = nn.MultiheadAttention(8, 2, batch_first=True)
        self.options = options

    def forward(self, x):
        return self.mixed(x, x, x, **self.options)[0]


def train(model, *, steps=1, x=None, run=lambda model, x: model(x)):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x = inputs(2, 5, 8) if x is None else x
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = run(model, x).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def attended(seen):
    return seen.trial.tensor_names(collection="attention")


def by_hand(q, k, mask=None, *, is_causal=False, scale=None):
    """Return all logits, shape ``[rows, keys]``, and entropies, in float64."""
    q, k = q.double(), k.double()
    k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)
    logits = q @ k.transpose(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
    if mask is not None:
        logits = logits.masked_fill(~mask, -math.inf) if mask.dtype is torch.bool else logits + mask
    if is_causal:
        keep = torch.ones(logits.shape[-2:], dtype=torch.bool).tril()
        logits = logits.masked_fill(~keep, -math.inf)
    shares = logits.softmax(-1)
    return logits.flatten(0, -2), torch.special.entr(shares).sum(-1).flatten()


CASES = {
    "plain": ((2, 4, 6, 8), (2, 4, 6, 8), {}),
    "causal": ((2, 4, 6, 8), (2, 4, 6, 8), {"is_causal": True}),
    "cross": ((2, 3, 5, 8), (2, 3, 9, 8), {"scale": 0.7}),
    "grouped": ((2, 4, 7, 8), (2, 2, 7, 8), {"is_causal": True}),
    "bool": ((2, 4, 6, 8), (2, 4, 6, 8), {"mask": inputs(2, 1, 6, 6) < 1.0}),
    "bool of keys": ((2, 4, 6, 8), (2, 4, 6, 8), {"mask": inputs(2, 1, 1, 6) < 1.0}),
    "float": ((2, 4, 6, 8), (2, 4, 6, 8), {"mask": inputs(6, 6)}),
}


class TestAttentionRows:
    @pytest.mark.parametrize("case", CASES)
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    def test_where_there_are_few_rows_all_are_taken(self, case, dtype):
        """In their order; logits and entropies as they are by their definition."""
        query_shape, key_shape, how = CASES[case]
        q, k = inputs(*query_shape).to(dtype), inputs(*key_shape, seed=2).to(dtype)
        logits, entropy = attention_rows(q, k, **how)
        expected, expected_entropy = by_hand(q, k, **how)

        torch.testing.assert_close(logits.double(), expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(entropy.double(), expected_entropy, atol=1e-5, rtol=1e-5)

    def test_of_many_rows_some_are_taken_over_all_dimensions(self):
        """Of batches, heads and queries no more are left out than cannot be met."""
        shape = 16, 8, 100
        places = torch.stack(torch.meshgrid(*map(torch.arange, shape), indexing="ij"), -1)
        # Each logit is the place of its query.
        logits, _ = attention_rows(places.float(), torch.eye(3).expand(16, 8, 3, 3), scale=1.0)

        assert (MOST_ROWS, 3) == tuple(logits.shape)
        assert [16, 8, MOST_ROWS] == [len(column.unique()) for column in logits.T]
        # No gap among the queries is wider than twice the mean one.
        assert logits[:, 2].sort().values.diff().max() <= 2 * 100 / MOST_ROWS

    def test_the_very_same_are_taken_again(self):
        """No random number is drawn."""
        q, k = inputs(4, 4, 50, 8), inputs(4, 4, 50, 8, seed=2)
        before = torch.get_rng_state()
        first, second = attention_rows(q, k), attention_rows(q, k)

        assert torch.equal(before, torch.get_rng_state())
        assert torch.equal(first[0], second[0])

    def test_equal_logits_have_the_entropy_of_their_number(self):
        """The logarithm of how many keys are seen, in nats."""
        zeros = torch.zeros(1, 1, 4, 8)
        _, entropy = attention_rows(zeros, zeros, is_causal=True)
        assert [math.log(n) for n in (1, 2, 3, 4)] == pytest.approx(entropy.tolist())

    def test_what_a_mask_hides_is_minus_infinity(self):
        """Also where it is a large number that is added; a row without keys is as a whole."""
        q = inputs(1, 1, 2, 4)
        mask = torch.tensor([[0.0, -1e9], [torch.finfo(torch.float16).min] * 2])
        logits, entropy = attention_rows(q, q, mask)

        assert [[False, True], [True, True]] == (logits == -math.inf).tolist()
        assert [0.0, -math.inf] == entropy.tolist()

    def test_nan_is_not_hidden(self):
        """Neither in the logits nor in the entropy."""
        q = inputs(1, 1, 2, 4)
        q[0, 0, 1, 0] = math.nan
        logits, entropy = attention_rows(q, inputs(1, 1, 2, 4, seed=2), is_causal=True)

        assert [False, True] == entropy.isnan().tolist()
        assert logits[1].isnan().all()

    @pytest.mark.parametrize("shape", [(0, 2, 3, 4), (2, 2, 0, 4), (5, 4)])
    def test_odd_shapes_are_taken(self, shape):
        """Nothing at all, and a query without batch or head."""
        logits, entropy = attention_rows(torch.ones(shape), torch.ones(shape))
        assert (len(entropy), shape[-2]) == tuple(logits.shape)

    def test_long_keys_leave_room_for_fewer_rows(self):
        """The keys of all sampled rows are gathered, so they are bounded."""
        q, k = torch.zeros(1, 70, 1024), torch.zeros(1, 4096, 1024)
        assert (2, 4096) == tuple(attention_rows(q, k)[0].shape)

    def test_it_can_be_compiled(self):
        """As one graph, with the very same rows."""
        q, k = inputs(2, 4, 40, 8), inputs(2, 4, 40, 8, seed=2)
        compiled = torch.compile(attention_rows, fullgraph=True, backend="aot_eager")
        for found, expected in zip(
            compiled(q, k, is_causal=True), attention_rows(q, k, is_causal=True), strict=True
        ):
            torch.testing.assert_close(found, expected)

    def test_scores_that_are_there_give_the_same(self):
        """As ``nn.MultiheadAttention`` has them, heads and batch in one dimension."""
        q, k = inputs(12, 20, 8), inputs(12, 20, 8, seed=2)
        scores = q @ k.transpose(1, 2) * 8**-0.5

        for found, expected in zip(score_rows(scores), attention_rows(q, k), strict=True):
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


class TestAttention:
    def test_it_is_named_by_the_module_that_runs(self, watched):
        """The innermost that has a name."""
        with watched() as seen:
            train(Model(Heads(), Heads(is_causal=True)))

        assert [
            f"attention/parts.{part}/{what}" for part in (0, 1) for what in ("entropy", "logits")
        ] == attended(seen)

    def test_what_is_hidden_is_not_counted(self, watched):
        """Of five keys the queries see 1 to 5, in 2 batches and 2 heads."""
        with watched(policy=[EVERY, RAW]) as seen:
            train(Model(Heads(is_causal=True)))

        logits = seen.trial.tensor("attention/parts.0/logits")
        assert [4 * (1 + 2 + 3 + 4 + 5)] == logits.statistics()["count"].tolist()
        assert logits.value(0).shape == (60,)
        assert [0.0] == logits.statistics()["non_finite"].tolist()

    def test_its_values_are_those_that_were_computed(self, watched):
        """From the projections that the module itself made."""
        model = Model(Heads(is_causal=True))
        taken = []
        model.parts[0].qkv.register_forward_hook(lambda _, args, out: taken.append(out.detach()))
        with watched(policy=[EVERY, RAW]) as seen:
            train(model)

        q, k, _ = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in taken[0].chunk(3, -1))
        logits, entropy = by_hand(q, k, is_causal=True)
        assert logits[logits != -math.inf].tolist() == pytest.approx(
            seen.trial.tensor("attention/parts.0/logits").value(0).tolist(), rel=1e-4, abs=1e-5
        )
        assert entropy.tolist() == pytest.approx(
            seen.trial.tensor("attention/parts.0/entropy").value(0).tolist(), rel=1e-4, abs=1e-5
        )

    @pytest.mark.parametrize("need_weights", [True, False])
    def test_torchs_own_module_is_seen(self, watched, need_weights):
        """Where its weights are asked for it computes them by a softmax."""
        with watched(policy=[EVERY]) as seen:
            train(Model(Weighing(need_weights=need_weights)))

        assert [f"attention/parts.0.mixed/{what}" for what in ("entropy", "logits")] == (
            attended(seen)
        )
        assert [20.0] == seen.series("attention/parts.0.mixed/entropy", "count")

    def test_both_its_ways_say_the_same(self, watched):
        """With a mask as well."""
        mask = torch.ones(5, 5, dtype=torch.bool).triu(1)
        rows = []
        for need_weights in (True, False):
            with watched(policy=[EVERY]) as seen:
                train(Model(Weighing(need_weights=need_weights, attn_mask=mask)))
            rows.append([seen.series(name) for name in attended(seen)])

        assert rows[0] == [pytest.approx(row, rel=1e-4, abs=1e-6) for row in rows[1]]

    def test_the_layers_of_a_transformer_are_seen(self, watched):
        """In training, and where they are evaluated with gradients."""
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        with watched() as seen:
            train(nn.TransformerEncoder(layer, 2))

        assert [
            f"attention/layers.{number}.self_attn/{what}"
            for number in (0, 1)
            for what in ("entropy", "logits")
        ] == attended(seen)

    def test_another_softmax_is_none(self, watched):
        """A classifier's shares are no attention."""
        with watched() as seen:
            train(nn.Sequential(nn.Linear(8, 3), nn.Softmax(-1)))
        assert [] == attended(seen)

    def test_every_tenth_step_is_the_default(self, watched):
        """Counted within the mode, from the first on."""
        with watched() as seen:
            train(Model(Heads()), steps=11)
        assert [0, 10] == list(seen.trial.tensor("attention/parts.0/logits").statistics().steps)

    def test_micro_batches_are_merged(self, watched):
        """As all that is observed several times in a step."""
        with watched(policy=[EVERY]) as seen:
            train(Model(Heads()), run=lambda model, x: model(x) + model(x))
        assert [40.0] == seen.series("attention/parts.0/entropy", "count")

    def test_a_function_that_was_imported_by_name_before_is_not_seen(self, watched):
        """It is compiled code: nothing of it can be exchanged. The coverage line says so."""
        module = types.ModuleType("model_of_somebody")
        module.scaled_dot_product_attention = ORIGINAL
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, module.__name__, module)
            with watched() as seen:
                train(Model(Heads(module.scaled_dot_product_attention)))

        assert [] == attended(seen)
        assert "no attention of model_of_somebody (imported before the hook)" in seen.said[-1]

    def test_one_that_was_imported_by_name_after_is(self, watched):
        """As in a script that ``stepwatch run`` starts; it works on after the hook is gone."""
        with watched() as seen:
            from torch.nn.functional import scaled_dot_product_attention

            model = Model(Heads(scaled_dot_product_attention))
            train(model)

        assert ["attention/parts.0/entropy", "attention/parts.0/logits"] == attended(seen)
        assert train(Model(Heads()), steps=2) == train(
            Model(Heads(scaled_dot_product_attention)), steps=2
        )


class TestUnharmed:
    def test_training_is_the_same(self, watched):
        """Bit for bit, with dropout: the generators are where they were."""
        model = lambda: Model(Heads(dropout_p=0.5, is_causal=True), Weighing())  # noqa: E731
        torch.manual_seed(1)
        one, plain = model(), []
        torch.manual_seed(1)
        plain = train(one, steps=3)
        other = model()
        torch.manual_seed(1)
        with watched(policy=[EVERY]):
            assert plain == train(other, steps=3)

    def test_the_function_is_put_back(self, watched):
        """The very one, and the softmax has its code again."""
        with watched():
            assert F.scaled_dot_product_attention is not ORIGINAL
        assert F.scaled_dot_product_attention is ORIGINAL
        assert F.softmax.__code__ is SOFTMAX

    def test_a_hook_in_a_hook_is_put_back(self, watched):
        """Whoever leaves first."""
        first = watched()
        second = watched()
        first.hook.close()
        train(Model(Heads()))
        second.hook.close()
        train(Model(Heads()))
        assert ["attention/parts.0/entropy", "attention/parts.0/logits"] == attended(second)
        assert F.scaled_dot_product_attention is ORIGINAL
        assert F.softmax.__code__ is SOFTMAX

    def test_what_it_raises_is_raised(self, watched):
        """And it is still seen afterwards."""
        q = torch.ones(1, 2, 3, 4)
        with watched(), pytest.raises(RuntimeError):
            F.scaled_dot_product_attention(q, torch.ones(1, 2, 3, 5), q)
        with watched():
            with pytest.raises(TypeError):
                F.scaled_dot_product_attention(q)
            assert F.scaled_dot_product_attention is not ORIGINAL

    def test_subclasses_of_tensors_know_it(self, watched):
        """They ask whether it is this function; what they are given cannot be sampled."""
        x = inputs(2, 5, 8)
        bias = causal_lower_right(5, 5)
        expected = Heads(attn_mask=bias)(x)
        with watched(policy=[EVERY]) as seen:
            model = Model(Heads(attn_mask=bias))
            assert torch.equal(expected, model(x))
            train(model)
        assert [] == attended(seen)

    @pytest.mark.slow
    def test_it_can_be_scripted_and_compiled(self, watched):
        """As without: one graph, no break."""
        q = inputs(1, 2, 3, 4)
        expected = ORIGINAL(q, q, q)

        def attend(q):
            return F.scaled_dot_product_attention(q, q, q)

        with watched():
            compiled = torch.compile(attend, fullgraph=True, backend="eager")
            scripted = torch.jit.script(nn.MultiheadAttention(4, 2))
            assert torch.equal(expected, compiled(q))
            assert scripted(q[0], q[0], q[0])[0].shape == (2, 3, 4)

    def test_it_can_be_pickled(self, watched):
        """A model may hold it."""
        with watched():
            loaded = pickle.loads(pickle.dumps(F.scaled_dot_product_attention))
            assert loaded is F.scaled_dot_product_attention

    def test_checkpointing_that_selects_is_not_confused(self, watched):
        """What is computed for us is not among the operations that it counts."""
        from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

        def keep(ctx, op, *args, **kwargs):
            del ctx, args, kwargs
            kept = op in (torch.ops.aten.bmm.default, torch.ops.aten.mm.default)
            return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE

        def run(model, x):
            return checkpoint(
                model,
                x,
                use_reentrant=False,
                context_fn=lambda: create_selective_checkpoint_contexts(keep),
            )

        plain = train(Model(Heads(), Weighing()), steps=3, run=run)
        with watched(policy=[EVERY]) as seen:
            assert plain == train(Model(Heads(), Weighing()), steps=3, run=run)
        assert [20.0] * 3 == seen.series("attention/parts.0/entropy", "count")

    def test_autocast_does_not_round_what_is_observed(self, watched):
        """Logits are products in float32 of what was given."""
        with watched(policy=[EVERY, RAW]) as seen, torch.autocast("cpu", torch.bfloat16):
            train(Model(Heads()))
        logits = seen.trial.tensor("attention/parts.0/logits").value(0)
        assert "float32" == str(logits.dtype)
        rounded = torch.from_numpy(logits).to(torch.bfloat16).float().numpy()
        assert (rounded != logits).any()
