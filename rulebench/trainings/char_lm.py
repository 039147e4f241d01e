"""A two-layer transformer learns the source text of Python's standard library by characters."""

from __future__ import annotations

import math
import sysconfig
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import Dataset

from .training import Training

#: Every character the model knows; whatever else stands in a file is read as a question mark.
CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))


@lru_cache(maxsize=1)
def text(limit: int = 200_000) -> tuple[Tensor, Tensor]:
    """Return the text to train on and the last tenth of every file, as tokens, int64."""
    number = {character: token for token, character in enumerate(CHARACTERS)}
    train: list[int] = []
    val: list[int] = []
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        left = limit - len(train) - len(val)
        if left <= 0:
            break
        characters = path.read_text(encoding="utf-8", errors="replace")[:left]
        tokens = [number.get(character, number["?"]) for character in characters]
        cut = len(tokens) * 9 // 10
        train += tokens[:cut]
        val += tokens[cut:]
    return torch.tensor(train), torch.tensor(val)


class Stretches(Dataset[tuple[Tensor, Tensor]]):
    """Stretches of a text, and the same stretches one character later."""

    def __init__(self, tokens: Tensor, length: int) -> None:
        self.tokens, self.length = tokens, length

    def __len__(self) -> int:
        return (len(self.tokens) - 1) // self.length

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        start = index * self.length
        window = self.tokens[start : start + self.length + 1]
        return window[:-1], window[1:]


class Attention(nn.Module):
    """Causal self-attention with all heads in one projection."""

    def __init__(self, d_model: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)

    def split(self, x: Tensor) -> tuple[Tensor, ...]:
        """Return queries, keys and values, ``[batch, heads, time, d_head]`` each."""
        batch, time, d_model = x.shape
        parts = self.qkv(x).view(batch, time, 3, self.heads, d_model // self.heads)
        return parts.permute(2, 0, 3, 1, 4).unbind()

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Return the values that each query attends to."""
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(self.attend(*self.split(x)).transpose(1, 2).reshape(x.shape))


class FeedForward(nn.Module):
    """Two linear layers with a GELU between."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(F.gelu(self.fc(x)))


class Block(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, model: CharTransformer) -> None:
        super().__init__()
        self.ln_1 = model.norm(model.d_model)
        self.attn = model.attention(model.d_model, model.heads)
        self.ln_2 = model.norm(model.d_model)
        self.mlp = model.feed_forward(model.d_model)
        self.drop = nn.Dropout(model.dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop(self.attn(self.ln_1(x)))
        return x + self.drop(self.mlp(self.ln_2(x)))


class CharTransformer(nn.Module):
    """A decoder-only transformer over characters; tokens ``[batch, time]`` to logits."""

    d_model: int = 32
    heads: int = 2
    layers: int = 2
    longest: int = 32
    dropout: float = 0.05
    norm: Callable[..., nn.Module] = nn.LayerNorm
    attention: Callable[..., nn.Module] = Attention
    feed_forward: Callable[..., nn.Module] = FeedForward
    block: Callable[..., nn.Module] = Block

    def __init__(self) -> None:
        super().__init__()
        self.wte = nn.Embedding(len(CHARACTERS), self.d_model)
        self.wpe = nn.Embedding(self.longest, self.d_model)
        self.drop = nn.Dropout(self.dropout)
        self.blocks = nn.ModuleList(self.block(self) for _ in range(self.layers))
        self.ln_f = self.norm(self.d_model)
        self.lm_head = nn.Linear(self.d_model, len(CHARACTERS), bias=False)
        self.apply(self.initialize)

    def initialize(self, module: nn.Module) -> None:
        """Set the first weights of a layer."""
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.5 / math.sqrt(module.weight.shape[1]))
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def embed(self, tokens: Tensor) -> Tensor:
        """Return tokens and positions as vectors, ``[batch, time, d_model]``."""
        return self.drop(self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1])))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def warmup_then_cosine(optimizer: torch.optim.Optimizer, steps: int = 300) -> LambdaLR:
    """Return the schedule of 20 steps of warm-up and a cosine that ends at a tenth."""

    def factor(step: int) -> float:
        if step < 20:
            return (step + 1) / 20
        done = min(1.0, (step - 20) / (steps - 20))
        return 0.1 + 0.45 * (1 + math.cos(math.pi * done))

    return LambdaLR(optimizer, factor)


class CharLm(Training):
    """A small language model."""

    lr = 6e-3
    batch_size = 16
    clip_norm = 1.0
    optimizer_class = torch.optim.AdamW
    schedule = staticmethod(warmup_then_cosine)
    transformer: Callable[[], nn.Module] = CharTransformer
    #: Characters that are trained on, at most.
    characters: int = 200_000

    def load_data(self) -> tuple[Stretches, Stretches]:
        train, val = text()
        # a small part of the validation text, the same at every evaluation
        return Stretches(train[: self.characters], 32), Stretches(val[: 128 * 32 + 1], 32)

    def build_model(self) -> nn.Module:
        return self.transformer()

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs.flatten(0, 1), targets.flatten())

    @torch.no_grad()
    def generation_loss(self) -> float:
        """Return the mean loss of the character after what was read so far, in nats.

        The model is given nothing that lies behind, as when it generates: what it can only do
        by looking ahead does not count.
        """
        self.model.eval()
        data = self.val_data
        windows = torch.stack([data[index][0] for index in range(len(data))])
        losses = [
            F.cross_entropy(self.model(windows[:, :read])[:, -1], windows[:, read])
            for read in (4, 8, 16, 24, 31)
        ]
        self.model.train()
        return float(torch.stack(losses).mean())
