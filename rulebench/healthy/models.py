"""Healthy trainings of models that look odd from inside."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

from ..faults.transformers import Tied
from ..program import family
from ..trainings.char_lm import Attention, Block, CharLm, CharTransformer, FeedForward
from ..trainings.digits import ConvNet, DigitRows, Digits, DigitsCnn, Perceptron
from ..trainings.play import Bandit, Gan
from ..trainings.small import Autoencoder, Recommender, Regression, Vae


class Adapter(nn.Module):
    """A linear layer that stays, and a product of two small ones that starts at zero."""

    def __init__(self, linear: nn.Linear, rank: int) -> None:
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.randn(rank, linear.in_features) / rank)
        self.lora_B = nn.Parameter(torch.zeros(linear.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) + x @ self.lora_A.T @ self.lora_B.T


class Lora(CharLm):
    """Only low-rank adapters and the head are trained."""

    rank: int = 4

    def build_model(self) -> nn.Module:
        model = super().build_model().requires_grad_(False)
        model.lm_head.requires_grad_(True)
        for block in model.blocks:
            block.attn.qkv = Adapter(block.attn.qkv, self.rank)
            block.mlp.fc = Adapter(block.mlp.fc, self.rank)
        return model

    def build_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW([p for p in self.model.parameters() if p.requires_grad], self.lr)


class FrozenBackbone(DigitsCnn):
    """The features stay as they were drawn; the optimizer is given everything."""

    normalize: bool = True

    def build_model(self) -> nn.Module:
        model = super().build_model()
        model.features.requires_grad_(False)
        return model


class FrozenBatchNorm(DigitsCnn):
    """Batch normalization stays in eval mode, with fixed parameters, as in detection."""

    trained_affine: bool = False

    def build_model(self) -> nn.Module:
        model = super().build_model()
        with torch.no_grad():
            for images in torch.randn(20, 32, 1, 8, 8):
                model(images)
        return model

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        for module in self.model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
                module.requires_grad_(self.trained_affine)
        super().train_step(inputs, targets)


class Converged(DigitsCnn):
    """Fine-tuning goes on where a training has ended: the loss has nowhere to fall."""

    fine_lr: float = 1e-5

    def build_model(self) -> nn.Module:
        model = ConvNet(dropout=0.0)
        images, labels = self.train_data.tensors
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        for batch in torch.randperm(len(images)).repeat(8).split(64):
            optimizer.zero_grad()
            F.cross_entropy(model(images[batch]), labels[batch]).backward()
            optimizer.step()
        self.lr = self.fine_lr
        return model


class Reparametrized(Digits):
    """Weight normalization or spectral normalization of every hidden layer."""

    normalization: str = "weight_norm"

    def build_model(self) -> nn.Module:
        model = super().build_model()
        for layer in model.layers:
            getattr(parametrizations, self.normalization)(layer)
        return model


class QuantizedNet(Perceptron):
    """Weights are rounded to a few levels in the forward; the gradient passes through."""

    levels: int = 8

    def forward(self, x: Tensor) -> Tensor:
        for layer in [*self.layers, self.head]:
            size = layer.weight.abs().max()
            rounded = (layer.weight / size * self.levels).round() * size / self.levels
            weight = layer.weight + (rounded - layer.weight).detach()
            x = F.linear(x, weight, layer.bias)
            x = x if layer is self.head else x.relu()
        return x


class Quantized(Digits):
    """Quantization-aware training."""

    levels: int = 8

    def build_model(self) -> nn.Module:
        model = QuantizedNet(width=self.width)
        model.levels = self.levels
        return model


class ZeroLastBlock(Block):
    """A block whose last layers start at zero, so that it begins as the identity."""

    def __init__(self, model: CharTransformer) -> None:
        super().__init__(model)
        for layer in (self.attn.proj, self.mlp.proj):
            nn.init.zeros_(layer.weight)


class ZeroInit(CharTransformer):
    block = ZeroLastBlock

    def initialize(self, module: nn.Module) -> None:
        if not isinstance(module, nn.Linear) or module.weight.any():
            super().initialize(module)


class PostNorm(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = self.ln_1(x + self.drop(self.attn(x)))
        return self.ln_2(x + self.drop(self.mlp(x)))


class Checkpointed(Block):
    def forward(self, x: Tensor) -> Tensor:
        return checkpoint(super().forward, x, use_reentrant=False)


class SinusPositions(CharTransformer):
    """Positions are not learnt."""

    def __init__(self) -> None:
        super().__init__()
        self.wpe.weight.requires_grad_(False)
        where = torch.arange(self.longest).unsqueeze(1)
        speed = 10000 ** (-torch.arange(0, self.d_model, 2) / self.d_model)
        with torch.no_grad():
            self.wpe.weight[:, 0::2] = 0.1 * torch.sin(where * speed)
            self.wpe.weight[:, 1::2] = 0.1 * torch.cos(where * speed)


class Gated(FeedForward):
    """A gated feed-forward layer."""

    def __init__(self, d_model: int) -> None:
        super().__init__(d_model)
        self.gate = nn.Linear(d_model, 4 * d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(F.silu(self.gate(x)) * self.fc(x))


class Squared(FeedForward):
    """ReLU squared, of which most is zero."""

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(F.relu(self.fc(x)).square())


class Masked(CharLm):
    """Some characters are hidden and learnt from both sides; most targets are ignored."""

    share: float = 0.15

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        hidden = torch.rand(inputs.shape) < self.share
        super().train_step(
            inputs.masked_fill(hidden, 0), torch.where(hidden, inputs, torch.tensor(-100))
        )


class Bidirectional(Attention):
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v)


class Encoder(CharTransformer):
    attention = Bidirectional


class LongHeads(CharTransformer):
    heads = 1
    layers = 1


class Deep(CharTransformer):
    layers = 5
    d_model = 24


class NoDropout(CharTransformer):
    dropout = 0.0


class MuchDropout(CharTransformer):
    dropout = 0.3


class RmsNorm(CharTransformer):
    norm = nn.RMSNorm


class DeepReluNet(nn.Module):
    """A residual perceptron of many layers."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.first = nn.Linear(64, 32)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 32), nn.ReLU()) for _ in range(depth)
        )
        self.head = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


class Residual(Digits):
    """A deep network with residual connections."""

    depth = 8

    def build_model(self) -> nn.Module:
        return DeepReluNet(self.depth)


class AuxiliaryNet(ConvNet):
    """A second head that only training uses."""

    def __init__(self) -> None:
        super().__init__()
        self.auxiliary = nn.Linear(256, 10)

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        features = self.features(x)
        logits = self.classifier(features)
        return (logits, self.auxiliary(features.flatten(1))) if self.training else logits


class Auxiliary(DigitsCnn):
    """A loss in the middle of the network, with less weight."""

    weight: float = 0.3

    def build_model(self) -> nn.Module:
        return AuxiliaryNet()

    def loss(self, outputs: Tensor | tuple[Tensor, Tensor], targets: Tensor) -> Tensor:
        if isinstance(outputs, Tensor):
            return F.cross_entropy(outputs, targets)
        logits, others = outputs
        return F.cross_entropy(logits, targets) + self.weight * F.cross_entropy(others, targets)


def _lm(name: str, **models: type[CharTransformer]):
    return family(name, CharLm, **{key: {"transformer": cls} for key, cls in models.items()})


def _transformer(**parts: object) -> type[CharTransformer]:
    return type("Variant", (CharTransformer,), parts)


MODELS = (
    *family("lora", Lora, four={}, sixteen={"rank": 16}),
    *family("frozen_backbone", FrozenBackbone, adam={}, high={"lr": 1e-2}),
    *family("frozen_batch_norm", FrozenBatchNorm, all={}, affine={"trained_affine": True}),
    *family("converged", Converged, low={}, lower={"fine_lr": 1e-6}),
    *family("reparametrized", Reparametrized, weight={},
            spectral={"normalization": "spectral_norm"}),
    *family("quantized", Quantized, eight={}, two={"levels": 2}),
    *family("dropout", Digits, half={"dropout": 0.5, "width": 128},
            most={"dropout": 0.7, "width": 256}),
    *family("dropout_cnn", DigitsCnn, half={"dropout": 0.5}, none={"dropout": 0.0}),
    *_lm("zero_init", model=ZeroInit, tied=type("TiedZero", (ZeroInit, Tied), {})),
    *_lm("block", post_norm=_transformer(block=PostNorm),
         checkpointed=_transformer(block=Checkpointed)),
    *_lm("positions", sinus=SinusPositions, learnt=CharTransformer),
    *_lm("feed_forward", gated=_transformer(feed_forward=Gated),
         squared=_transformer(feed_forward=Squared)),
    *_lm("shape", one_head=LongHeads, deep=Deep),
    *_lm("lm_dropout", none=NoDropout, much=MuchDropout),
    *_lm("norm", rms=RmsNorm, tied=Tied),
    *family("masked_lm", Masked, usual={"transformer": Encoder},
            much={"transformer": Encoder, "share": 0.4}),
    *family("activation", Digits, tanh={"activation": nn.Tanh}, sigmoid={"activation": nn.Sigmoid},
            gelu={"activation": nn.GELU}, leaky={"activation": nn.LeakyReLU},
            selu={"activation": nn.SELU}, hard={"activation": nn.Hardtanh}),
    *family("residual", Residual, eight={}, sixteen={"depth": 16}),
    *family("auxiliary_head", Auxiliary, weak={}, equal={"weight": 1.0}),
    *family("wide", Digits, wide={"width": 512, "steps": 200}, narrow={"width": 8, "lr": 1e-2}),
    *family("recurrent", DigitRows, rnn={"cell": nn.RNN, "lr": 2e-3}, gru={"cell": nn.GRU},
            relu={"cell": partial(nn.RNN, nonlinearity="relu"), "lr": 1e-3, "clip_norm": 1.0}),
    *family("gan", Gan, equal={}, two_rates={"discriminator_lr": 4e-3, "lr": 1e-3},
            long={"steps": 600}),
    *family("policy_gradient", Bandit, baseline={}, plain={"with_baseline": False},
            exploring={"entropy_bonus": 0.1}),
    *family("vae", Vae, annealed={}, at_once={"annealed_steps": 1},
            weak={"kl_weight": 0.2}),
    *family("tiny_data", Digits, small={"train_size": 200, "steps": 200, "dropout": 0.5},
            smaller={"train_size": 120, "steps": 100, "dropout": 0.5}),
    *family("recommender", Recommender, adam={}, high={"lr": 3e-2, "steps": 200}),
    *family("regression", Regression, noisy={"noise": 0.5}, exact={"noise": 0.0, "steps": 400}),
    *family("autoencoder", Autoencoder, adam={}, sgd={"optimizer_class": torch.optim.SGD,
                                                     "lr": 5.0}),
)  # fmt: skip
