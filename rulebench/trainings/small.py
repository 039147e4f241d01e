"""Trainings on data that is made: regression, autoencoders, recommendations, mixed experts."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.utils.data import Dataset, TensorDataset

from .char_lm import CharLm, CharTransformer, FeedForward
from .digits import Digits, Perceptron
from .training import Training


class Regression(Training):
    """A perceptron learns a smooth function of eight numbers."""

    lr = 5e-3
    noise: float = 0.1
    width: int = 32

    def load_data(self) -> tuple[Dataset[Any], Dataset[Any]]:
        generator = torch.Generator().manual_seed(self.seed)
        x = torch.randn(2000, 8, generator=generator)
        weights = torch.randn(8, 2, generator=generator) / 2
        hidden = x @ weights
        y = hidden[:, :1] + torch.sin(2 * hidden[:, 1:])
        y = self.arrange(y + self.noise * torch.randn(y.shape, generator=generator))
        x = self.arrange_inputs(x)
        return TensorDataset(x[:1600], y[:1600]), TensorDataset(x[1600:], y[1600:])

    def arrange_inputs(self, x: Tensor) -> Tensor:
        """Return the features ``[samples, 8]`` as the model is given them."""
        return x

    def arrange(self, y: Tensor) -> Tensor:
        """Return the targets ``[samples, 1]`` as the loss is given them."""
        return y

    def build_model(self) -> nn.Module:
        return Perceptron(inputs=8, width=self.width, outputs=1, dropout=0.0, activation=nn.Tanh)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(outputs, targets)


class AutoencoderNet(nn.Module):
    """Squeezes 64 pixels into a code and unfolds it again."""

    def __init__(self, code: int = 8) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, code))
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.ReLU(), nn.Linear(32, 64))

    def encode(self, x: Tensor) -> Tensor:
        """Return the code, ``[batch, code]``."""
        return self.encoder(x)

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.decoder(self.encode(x)))


class Autoencoder(Digits):
    """Learns to draw digits again from a code of eight numbers."""

    lr = 5e-3
    code: int = 8

    def build_model(self) -> nn.Module:
        return AutoencoderNet(self.code)

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        super().train_step(inputs, inputs)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(outputs, targets)

    @torch.no_grad()
    def evaluate(self) -> float:
        self.model.eval()
        images = self.val_data.tensors[0]
        loss = self.loss(self.model(images), images)
        self.model.train()
        return float(loss)


class VaeNet(AutoencoderNet):
    """An autoencoder whose code is drawn from a normal distribution."""

    def __init__(self, code: int = 8) -> None:
        super().__init__(2 * code)
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.ReLU(), nn.Linear(32, 64))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        code = mean + torch.exp(log_variance / 2) * torch.randn_like(mean)
        return self.decoder(code), mean, log_variance


class Vae(Autoencoder):
    """A variational autoencoder; the weight of its prior grows over the first steps."""

    kl_weight: float = 1.0
    annealed_steps: int = 150

    def build_model(self) -> nn.Module:
        return VaeNet(self.code)

    def loss(self, outputs: tuple[Tensor, Tensor, Tensor], targets: Tensor) -> Tensor:  # type: ignore[override]
        pixels, mean, log_variance = outputs
        drawn = F.binary_cross_entropy_with_logits(pixels, targets, reduction="sum") / len(targets)
        prior = (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean() / 2
        share = min(1.0, (self.step + 1) / self.annealed_steps)
        return drawn + share * self.kl_weight * prior


class Ratings(nn.Module):
    """Users and items as vectors; what a user thinks of an item is their product."""

    def __init__(self, users: int, items: int, *, sparse: bool) -> None:
        super().__init__()
        self.user = nn.Embedding(users, 16, sparse=sparse)
        self.item = nn.Embedding(items, 16, sparse=sparse)
        nn.init.normal_(self.user.weight, std=0.3)
        nn.init.normal_(self.item.weight, std=0.3)

    def forward(self, pairs: Tensor) -> Tensor:
        return (self.user(pairs[:, 0]) * self.item(pairs[:, 1])).sum(1)


class Recommender(Training):
    """Learns which of 100 items 200 users like."""

    lr = 1e-2
    batch_size = 128
    sparse: bool = False

    def load_data(self) -> tuple[Dataset[Any], Dataset[Any]]:
        generator = torch.Generator().manual_seed(self.seed)
        users = torch.randn(200, 3, generator=generator)
        items = torch.randn(100, 3, generator=generator)
        pairs = torch.cartesian_prod(torch.arange(200), torch.arange(100))
        pairs = pairs[torch.randperm(len(pairs), generator=generator)]
        taste = (users[pairs[:, 0]] * items[pairs[:, 1]]).sum(1)
        likes = torch.bernoulli(torch.sigmoid(3 * taste), generator=generator)
        return (
            TensorDataset(pairs[:16000], likes[:16000]),
            TensorDataset(pairs[16000:], likes[16000:]),
        )

    def build_model(self) -> nn.Module:
        return Ratings(200, 100, sparse=self.sparse)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(outputs, targets)


class Experts(nn.Module):
    """Four feed-forward experts, of which a router chooses one for each token."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.router = nn.Linear(d_model, 4)
        self.experts = nn.ModuleList(FeedForward(d_model) for _ in range(4))
        self.balance_loss = torch.zeros(())

    def route(self, tokens: Tensor) -> Tensor:
        """Return how likely each expert is for each token, ``[tokens, 4]``."""
        return self.router(tokens).softmax(-1)

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.flatten(0, 1)
        shares = self.route(tokens)
        chosen = shares.argmax(-1)
        load = F.one_hot(chosen, 4).float().mean(0)
        # as in the Switch Transformer: least where all experts have the same load
        self.balance_loss = 4 * (load * shares.mean(0)).sum()
        result = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            mine = (chosen == number).nonzero().squeeze(1)
            if len(mine):
                weighted = expert(tokens[mine]) * shares[mine, number].unsqueeze(1)
                result = result.index_add(0, mine, weighted)
        return result.view_as(x)


class MixedTransformer(CharTransformer):
    """A transformer with experts in place of its feed-forward layers."""

    feed_forward = Experts


class MixedExperts(CharLm):
    """A language model with a mixture of experts."""

    transformer = MixedTransformer
    balance: float = 0.02

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        experts = [module for module in self.model.modules() if isinstance(module, Experts)]
        balance = torch.stack([module.balance_loss for module in experts]).sum()
        return super().loss(outputs, targets) + self.balance * balance
