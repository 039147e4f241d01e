"""Mutants of a two-layer transformer. ``rulebench hurts`` says which of them do harm."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from ..program import faulty
from ..trainings.char_lm import Attention, Block, CharLm, CharTransformer, FeedForward
from ..trainings.small import Experts, MixedExperts, MixedTransformer


class SeesAll(Attention):
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v)


class MaskOffByOne(Attention):
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        time = q.shape[-2]
        visible = torch.ones(time, time, dtype=torch.bool).tril(1)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)


class MaskInverted(Attention):
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        time = q.shape[-2]
        visible = torch.ones(time, time, dtype=torch.bool).triu()
        return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)


class SelfMasked(Attention):
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        time = q.shape[-2]
        visible = torch.ones(time, time, dtype=torch.bool).tril(-8)
        visible[:8] |= torch.eye(time, dtype=torch.bool)[:8]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)


class Scaled(Attention):
    scale = 1.0

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale)


class TooSharp(Scaled):
    scale = 60.0


class TooFlat(Scaled):
    scale = 1e-4


class NegativeScale(Scaled):
    scale = -30.0


class Swapped(Attention):
    def split(self, x: Tensor) -> tuple[Tensor, ...]:
        q, _, v = super().split(x)
        return v, v, q


class HeadsMixed(Attention):
    def forward(self, x: Tensor) -> Tensor:
        return self.proj(self.attend(*self.split(x)).reshape(x.shape))


class OverQueries(Attention):
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return scores.masked_fill(hidden, -1e9).softmax(dim=-2) @ v


class OverBatch(Attention):
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        over_batch = [part.transpose(0, 2) for part in (q, k, v)]
        return F.scaled_dot_product_attention(*over_batch, is_causal=True).transpose(0, 2)


class NoResidual(Block):
    def forward(self, x: Tensor) -> Tensor:
        return self.mlp(self.ln_2(self.attn(self.ln_1(x))))


class ResidualOfNorm(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = x - self.drop(self.attn(self.ln_1(x)))
        return 0.05 * x + self.drop(self.mlp(self.ln_2(0.05 * x)))


class NoFeedForward(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x) * self.proj(F.gelu(self.fc(x)))


class NegativeGelu(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return self.proj(F.relu(self.fc(x) - 6))


class NoPositions(CharTransformer):
    def embed(self, tokens: Tensor) -> Tensor:
        return self.drop(self.wte(tokens))


class SamePosition(CharTransformer):
    def embed(self, tokens: Tensor) -> Tensor:
        positions = torch.zeros(tokens.shape[1], dtype=torch.int64)
        return self.drop(self.wte(tokens) + self.wpe(positions))


class LoudPositions(CharTransformer):
    def embed(self, tokens: Tensor) -> Tensor:
        return self.drop(self.wte(tokens) + 300 * self.wpe(torch.arange(tokens.shape[1])))


class ShiftedInEvaluation(CharTransformer):
    def embed(self, tokens: Tensor) -> Tensor:
        shift = 0 if self.training else 7
        positions = (torch.arange(tokens.shape[1]) + shift) % self.longest
        return self.drop(self.wte(tokens) + self.wpe(positions))


class Tied(CharTransformer):
    """The head is the table of embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.lm_head.weight = self.wte.weight


class TiedByCopy(CharTransformer):
    def __init__(self) -> None:
        super().__init__()
        self.lm_head.weight = nn.Parameter(self.wte.weight.detach().clone(), requires_grad=False)


class LoudEmbeddings(CharTransformer):
    def initialize(self, module: nn.Module) -> None:
        super().initialize(module)
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=100.0)


class HugeWeights(CharTransformer):
    def initialize(self, module: nn.Module) -> None:
        super().initialize(module)
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=4.0)


class SmallWeights(CharTransformer):
    def initialize(self, module: nn.Module) -> None:
        nn.init.normal_(module.weight, std=1e-6) if hasattr(module, "weight") else None


class LogitsDropped(CharTransformer):
    def forward(self, tokens: Tensor) -> Tensor:
        return F.dropout(super().forward(tokens), 0.6)


class LogitsDrift(CharTransformer):
    """A shift of all logits, which no loss sees; in half precision it costs digits."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def forward(self, tokens: Tensor) -> Tensor:
        self.seen += int(self.training)
        return (super().forward(tokens) + self.seen).bfloat16().float()


class Cold(CharTransformer):
    def forward(self, tokens: Tensor) -> Tensor:
        return super().forward(tokens) / 60


class Tuned(CharLm):
    """Embeddings have a learning rate of their own."""

    embedding_factor: float = 1.0

    def build_optimizer(self) -> torch.optim.Optimizer:
        embeddings = [self.model.wte.weight, self.model.wpe.weight]
        known = {id(parameter) for parameter in embeddings}
        others = [p for p in self.model.parameters() if id(p) not in known]
        return torch.optim.AdamW(
            [{"params": others}, {"params": embeddings, "lr": self.lr * self.embedding_factor}],
            lr=self.lr,
        )


class NotShifted(CharLm):
    """The targets are the inputs."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        super().train_step(inputs, inputs)


class ShiftedTwice(CharLm):
    """The targets are two characters ahead: the loss shifts, and so did the data."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        super().train_step(inputs[:, :-1], targets[:, 1:])


class ReversedTargets(CharLm):
    """The targets are flattened in another order than the outputs."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        super().train_step(inputs, targets.T.reshape(targets.shape))


class BiasedRouter(Experts):
    def __init__(self, d_model: int) -> None:
        super().__init__(d_model)
        with torch.no_grad():
            self.router.bias[0] = 8.0


class SilentRouter(Experts):
    """Experts of which only those far from what is routed are asked: chosen upside down."""

    def route(self, tokens: Tensor) -> Tensor:
        return (self.router(tokens) * 1e-6 + torch.tensor([0.0, 9.0, 0.0, 0.0])).softmax(-1)


class WeakExpert(BiasedRouter):
    def forward(self, x: Tensor) -> Tensor:
        return 1e-3 * super().forward(x)


def _model(cls: type[CharTransformer], **parts: object) -> type[CharTransformer]:
    """Return the transformer with other parts."""
    return type(cls.__name__, (cls,), parts)


def _lm(name: str, cause: str, cls: type[CharTransformer] = CharTransformer, **parts: object):
    return faulty(name, cause, CharLm, transformer=_model(cls, **parts))


class MixedBiased(MixedTransformer):
    feed_forward = BiasedRouter


class MixedSilent(MixedTransformer):
    feed_forward = SilentRouter


class MixedWeak(MixedTransformer):
    feed_forward = WeakExpert


TRANSFORMERS = (
    _lm("lm_sees_all", "future_seen", attention=SeesAll),
    _lm("lm_mask_off_by_one", "future_seen", attention=MaskOffByOne),
    _lm("lm_mask_inverted", "future_seen", attention=MaskInverted),
    _lm("lm_over_queries", "future_seen", attention=OverQueries),
    faulty("lm_targets_not_shifted", "future_seen", NotShifted),
    faulty("lm_targets_shifted_twice", "labels_wrong", ShiftedTwice),
    faulty("lm_targets_in_other_order", "labels_wrong", ReversedTargets),
    _lm("lm_mask_hides_recent", "attention_wrong", attention=SelfMasked),
    _lm("lm_over_batch", "attention_wrong", attention=OverBatch),
    _lm("lm_queries_and_values_swapped", "attention_wrong", attention=Swapped),
    _lm("lm_heads_mixed", "attention_wrong", attention=HeadsMixed),
    _lm("lm_attention_too_flat", "attention_wrong", attention=TooFlat),
    _lm("lm_attention_unscaled", "attention_logits", attention=Scaled),
    _lm("lm_attention_too_sharp", "attention_logits", attention=TooSharp),
    _lm("lm_attention_negative", "attention_logits", attention=NegativeScale),
    _lm("lm_no_positions", "no_positions", NoPositions),
    _lm("lm_same_position", "no_positions", SamePosition),
    _lm("lm_loud_positions", "normalization_wrong", LoudPositions),
    _lm("lm_no_layer_norm", "normalization_wrong", norm=nn.Identity),
    _lm("lm_layer_norm_epsilon", "normalization_wrong", norm=partial(nn.LayerNorm, eps=1e4)),
    _lm("lm_no_residual", "residual_missing", block=NoResidual),
    _lm("lm_residual_scaled", "residual_missing", block=ResidualOfNorm),
    _lm("lm_no_feed_forward", "detached_graph", feed_forward=NoFeedForward),
    _lm("lm_dead_feed_forward", "dead_relu", feed_forward=NegativeGelu),
    _lm("lm_tied_by_copy", "tie_broken", TiedByCopy),
    _lm("lm_evaluated_shifted", "evaluation_shifted", ShiftedInEvaluation),
    _lm("lm_loud_embeddings", "embedding_drift", LoudEmbeddings),
    _lm("lm_huge_weights", "bad_initialization", HugeWeights),
    _lm("lm_tiny_weights", "bad_initialization", SmallWeights),
    _lm("lm_logits_dropped", "dropout_too_high", LogitsDropped),
    _lm("lm_logits_drift", "logit_drift", LogitsDrift),
    _lm("lm_logits_divided", "bad_initialization", Cold),
    faulty("lm_embedding_rate", "embedding_drift", Tuned, embedding_factor=1000.0),
    faulty("lm_embedding_rate_high", "embedding_drift", Tuned, embedding_factor=100.0),
    faulty("moe_router_biased", "router_collapse", MixedExperts, transformer=MixedBiased,
           balance=0.0),
    faulty("moe_router_ignores_tokens", "router_collapse", MixedExperts, transformer=MixedSilent),
    faulty("moe_router_and_experts_weak", "router_collapse", MixedExperts, transformer=MixedWeak,
           balance=0.0),
)  # fmt: skip
