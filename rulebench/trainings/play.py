"""Trainings without a fixed target: two networks against each other, and a policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.utils.data import Dataset, TensorDataset

from .digits import Perceptron
from .training import Batch, Training


class Generator(nn.Module):
    """Noise ``[batch, 8]`` to points ``[batch, 2]``."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))

    def forward(self, noise: Tensor) -> Tensor:
        return self.net(noise)


class Discriminator(nn.Module):
    """Points ``[batch, 2]`` to logits ``[batch, 1]`` of being real."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, points: Tensor) -> Tensor:
        return self.net(points)


class Gan(Training):
    """A generator learns to place points on a ring, a discriminator to tell them apart."""

    lr = 2e-3
    discriminator_lr: float = 2e-3
    batch_size = 64
    betas: tuple[float, float] = (0.5, 0.99)

    def load_data(self) -> tuple[Dataset[Any], Dataset[Any]]:
        angle = 2 * torch.pi * torch.rand(2000, 1)
        ring = torch.cat([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(2000, 2)
        return TensorDataset(ring, angle), TensorDataset(ring[:100], angle[:100])

    def build_model(self) -> nn.Module:
        self.discriminator = Discriminator()
        return Generator()

    def build_optimizer(self) -> torch.optim.Optimizer:
        self.discriminator_optimizer = torch.optim.Adam(
            self.discriminator.parameters(), lr=self.discriminator_lr, betas=self.betas
        )
        return torch.optim.Adam(self.model.parameters(), lr=self.lr, betas=self.betas)

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        fake = self.model(torch.randn(len(inputs), 8))
        self.discriminator_optimizer.zero_grad()
        real_loss = self.loss(self.discriminator(inputs), torch.ones(len(inputs), 1))
        fake_loss = self.loss(self.discriminator(fake.detach()), torch.zeros(len(inputs), 1))
        (real_loss + fake_loss).backward()
        self.discriminator_optimizer.step()

        self.optimizer.zero_grad()
        self.loss(self.discriminator(fake), torch.ones(len(inputs), 1)).backward()
        self.optimizer.step()

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(outputs, targets)

    def evaluate(self) -> float:
        return 0.0  # nobody evaluates the generator while it trains


class Bandit(Training):
    """A policy learns by its rewards which of four actions is right in which context."""

    lr = 5e-3
    batch_size = 64
    entropy_bonus: float = 0.02
    with_baseline: bool = True

    def load_data(self) -> tuple[Dataset[Any], Dataset[Any]]:
        self.right = torch.randn(8, 4)
        self.usual_reward = 0.0
        contexts = torch.randn(400, 8)
        return TensorDataset(contexts), TensorDataset(contexts)

    def build_model(self) -> nn.Module:
        return Perceptron(inputs=8, width=32, outputs=4, dropout=0.0, activation=nn.Tanh)

    def endless_batches(self) -> Iterator[Batch]:
        while True:
            yield torch.randn(self.batch_size, 8), torch.empty(0)

    def reward(self, contexts: Tensor, actions: Tensor) -> Tensor:
        """Return the reward of each action, ``[batch]``."""
        right = (contexts @ self.right).argmax(1)
        return (actions == right).float() + 0.1 * torch.randn(len(actions))

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        policy = Categorical(logits=self.model(inputs))
        actions = policy.sample()
        rewards = self.reward(inputs, actions)
        baseline = self.usual_reward if self.with_baseline else 0.0
        self.usual_reward += 0.1 * (float(rewards.mean()) - self.usual_reward)
        gain = (policy.log_prob(actions) * (rewards - baseline)).mean()
        self.optimizer.zero_grad()
        (-gain - self.entropy_bonus * policy.entropy().mean()).backward()
        self.clip_gradients()
        self.optimizer.step()
        self.after_update()

    @torch.no_grad()
    def evaluate(self) -> float:
        self.model.eval()
        contexts = self.val_data.tensors[0]
        reward = self.reward(contexts, self.model(contexts).argmax(1)).mean()
        self.model.train()
        return float(reward)
