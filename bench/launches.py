"""How many operations a step launches on an accelerator, counted without one.

A GPT of GPT-2's depth, narrow so that it is quick, is trained on the CPU by a hook that takes
every tensor for one on an accelerator. What a step launches depends on how many tensors there are,
and hardly on their size. Counted are operations of PyTorch that begin no other and compute
something: each is about one kernel. One on a list of tensors (``_foreach``) counts as one, though
it may be several.

    python bench/launches.py
"""

from __future__ import annotations

import tempfile
from collections import Counter

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from stepwatch.capture import budget
from stepwatch.hooks.torch import TorchHook, observe

LAYERS, WIDTH, HEADS, LENGTH, WORDS = 12, 48, 4, 16, 65
#: They look at what is there, and launch nothing.
_VIEWS = """
    alias as_strided detach detach_ empty empty_like empty_strided expand lift_fresh permute reshape
    resolve_conj resolve_neg select slice split squeeze t to transpose unbind unsqueeze view
    view_as_real result_type resize_ set_ _reshape_alias unflatten
"""


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.norm(x)).view(batch, length, 3, HEADS, width // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.words(words) + self.positions(torch.arange(words.shape[1]))
        logits: torch.Tensor = self.head(self.norm(self.blocks(x)))
        return logits


def count(model: nn.Module, optimizer: torch.optim.Optimizer, warm_up: int) -> Counter[str]:
    """Return what one step launches, after others."""

    def step() -> None:
        words = torch.randint(0, WORDS, (4, LENGTH + 1))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
        loss.backward()
        optimizer.step()

    for _ in range(warm_up):
        step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        step()
    launched: Counter[str] = Counter()
    waiting = [event for event in profiler.events() if event.cpu_parent is None]
    while waiting:
        event = waiting.pop()
        children = [one for one in event.cpu_children if one.name.startswith("aten::")]
        is_list = event.name.startswith("aten::_foreach") or "fused" in event.name
        if event.name.startswith("aten::") and (is_list or not children):
            launched[event.name] += event.name.removeprefix("aten::") not in _VIEWS.split()
        else:
            waiting += event.cpu_children
    return +launched


def main() -> None:
    """Print a table."""
    observe.on_host = lambda _: False
    budget.FULL_STEPS = 2
    ways: dict[str, dict[str, object] | None] = {
        "alone": None,
        "observed in full": {"black_box_mb": 0},
        "a thin step of a budget": {"budget": 0.03},
    }
    print("| Step | launches | more | most of them |\n|---|---|---|---|")
    plain: Counter[str] = Counter()
    for way, options in ways.items():
        torch.manual_seed(0)
        model = GPT()
        optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
        if options is None:
            plain = launched = count(model, optimizer, warm_up=5)
        else:
            with tempfile.TemporaryDirectory() as folder:
                hook = TorchHook(
                    model, run=f"{folder}/run", hold=False, say=lambda _: None, **options
                )
                hook.recorder.budget.period = 10**6 if "budget" in options else 1
                launched = count(model, optimizer, warm_up=5)
                hook.close()
        more = launched - plain
        named = ", ".join(f"{name[6:]} {number}" for name, number in more.most_common(6))
        print(f"| {way} | {launched.total()} | {launched.total() - plain.total()} | {named} |")
    print(f"\n{LAYERS} layers, {len(list(GPT().parameters()))} parameters")


if __name__ == "__main__":
    main()
