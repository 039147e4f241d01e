"""Train a small GPT, character by character, on the source text of Python's standard library.

An ordinary PyTorch script that needs no download: the text is what the running interpreter
came with.

    python demo/char_gpt.py
    python demo/char_gpt.py --fault forgotten-layer
    python demo/char_gpt.py --d-model 256 --layers 6 --batch 8 --block 128
"""

from __future__ import annotations

import argparse
import math
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812  (what everybody calls it)
from torch import nn

#: Every character the model knows; whatever else stands in a file is read as a question mark.
CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))


class Attention(nn.Module):
    """Causal self-attention with all heads in one projection."""

    def __init__(self, d_model: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)
        self.resid_dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, block, d_model = x.shape
        heads = self.qkv(x).view(batch, block, 3, self.heads, d_model // self.heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(
            q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True
        )
        return self.resid_dropout(self.proj(y.transpose(1, 2).reshape(batch, block, d_model)))


class MLP(nn.Module):
    """Two linear layers with a GELU between, four times as wide inside."""

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__()
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.gelu = nn.GELU()
        self.proj = nn.Linear(4 * d_model, d_model)
        self.resid_dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.resid_dropout(self.proj(self.gelu(self.fc(x))))


class Block(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, d_model: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = Attention(d_model, heads, dropout)
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = MLP(d_model, dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """A decoder-only transformer over characters.

    Args:
        vocab: Number of different characters.
        block: The longest sequence, in characters.
        d_model: Width; a multiple of ``heads``.
        layers: Number of blocks.
        heads: Number of attention heads; one for every 32 of the width if not given.
        dropout: Probability of dropping, in embeddings, attention and residuals.
    """

    def __init__(
        self,
        vocab: int = len(CHARACTERS),
        *,
        block: int = 48,
        d_model: int = 64,
        layers: int = 3,
        heads: int | None = None,
        dropout: float = 0.05,
    ) -> None:
        super().__init__()
        heads = heads or max(1, d_model // 32)
        self.wte = nn.Embedding(vocab, d_model)
        self.wpe = nn.Embedding(block, d_model)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(d_model, heads, dropout) for _ in range(layers))
        self.ln_f = nn.LayerNorm(d_model)
        self.lm_head = nn.Linear(d_model, vocab, bias=False)
        self.apply(self._initialize)
        for name, parameter in self.named_parameters():
            if name.endswith("proj.weight"):
                nn.init.normal_(parameter, std=0.5 / math.sqrt(2 * layers * d_model))

    def _initialize(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.5 / math.sqrt(module.weight.shape[1]))
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(
        self, tokens: torch.Tensor, targets: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the logits ``[batch, block, vocab]`` and, given targets, the loss in nats."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.drop(self.wte(tokens) + self.wpe(positions))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def load_text(limit: int = 1_000_000) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the standard library's source as tokens, for training and for validation.

    The last tenth of every file is kept for validation.

    Args:
        limit: Characters to read at most.
    """
    number = {character: token for token, character in enumerate(CHARACTERS)}
    unknown = number["?"]
    train: list[int] = []
    val: list[int] = []
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        left = limit - len(train) - len(val)
        if left <= 0:
            break
        text = path.read_text(encoding="utf-8", errors="replace")[:left]
        tokens = [number.get(character, unknown) for character in text]
        cut = len(tokens) * 9 // 10
        train += tokens[:cut]
        val += tokens[cut:]
    return torch.tensor(train), torch.tensor(val)


def sample_batch(
    tokens: torch.Tensor, batch: int, block: int, generator: torch.Generator | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return random stretches of the text, and the same stretches one character later."""
    starts = torch.randint(len(tokens) - block - 1, (batch, 1), generator=generator)
    where = starts + torch.arange(block)
    return tokens[where], tokens[where + 1]


@torch.no_grad()
def validate(model: GPT, tokens: torch.Tensor, args: argparse.Namespace) -> float:
    """Return the mean loss over the same few batches every time."""
    model.eval()
    generator = torch.Generator().manual_seed(args.seed)
    losses = []
    for _ in range(args.eval_batches):
        inputs, targets = sample_batch(tokens, args.batch, args.block, generator)
        _, loss = model(inputs, targets)
        losses.append(loss.item())
    model.train()
    return sum(losses) / len(losses)


def make_optimizer(model: GPT, args: argparse.Namespace) -> torch.optim.AdamW:
    """Return AdamW with weight decay on matrices only."""
    blocks = list(model.blocks)
    if args.fault == "forgotten-layer":
        blocks = blocks[:-1]
    trained = [model.wte, model.wpe, *blocks, model.ln_f, model.lm_head]
    parameters = [parameter for module in trained for parameter in module.parameters()]
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.99))


def warmup_then_cosine(steps: int, warmup: int = 20) -> Callable[[int], float]:
    """Return the factor of the learning rate at each step, ending at a tenth."""

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        done = (step - warmup) / max(1, steps - warmup)
        return 0.1 + 0.45 * (1 + math.cos(math.pi * done))

    return factor


def train(
    model: GPT, train_tokens: torch.Tensor, val_tokens: torch.Tensor, args: argparse.Namespace
) -> None:
    optimizer = make_optimizer(model, args)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup_then_cosine(args.steps))
    model.train()
    recent: list[float] = []
    for step in range(1, args.steps + 1):
        inputs, targets = sample_batch(train_tokens, args.batch, args.block)
        model.zero_grad(set_to_none=True)
        _, loss = model(inputs, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        recent.append(loss.item())
        if step % args.eval_every == 0 or step == args.steps:
            val_loss = validate(model, val_tokens, args)
            train_loss = sum(recent) / len(recent)
            recent.clear()
            print(
                f"step {step:4d}  train loss {train_loss:.4f}  val loss {val_loss:.4f}", flush=True
            )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--block", type=int, default=48)
    parser.add_argument("--d-model", type=int, default=64)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--dropout", type=float, default=0.05)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--eval-every", type=int, default=25)
    parser.add_argument("--eval-batches", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--fault",
        choices=["none", "forgotten-layer"],
        default="none",
        help="forgotten-layer: leave the last block out of the optimizer",
    )
    return parser.parse_args()


def main() -> None:
    args = parse_arguments()
    torch.manual_seed(args.seed)
    train_tokens, val_tokens = load_text()
    model = GPT(block=args.block, d_model=args.d_model, layers=args.layers, dropout=args.dropout)
    size = sum(parameter.numel() for parameter in model.parameters())
    print(f"{size:,} parameters, {len(train_tokens):,} characters to train on")
    started = time.perf_counter()
    train(model, train_tokens, val_tokens, args)
    print(f"trained in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
