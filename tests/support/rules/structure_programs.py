"""Small trainings whose fault lies in how model, data and loop are put together; and twins."""

from __future__ import annotations

import math
from copy import deepcopy
from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LinearLR, OneCycleLR, StepLR

from tests.support.rules.scenarios import Scenario


def _images(samples=256, classes=4):
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, classes, (samples,), generator=generator)
    centers = 2 * torch.randn(classes, 8, generator=generator)
    return centers[labels] + torch.randn(samples, 8, generator=generator), labels


def _tokens(samples=128, length=12, words=12):
    """Sequences in which each token is the one before it plus one or two."""
    generator = torch.Generator().manual_seed(0)
    steps = torch.randint(1, 3, (samples, length + 1), generator=generator)
    return (steps.cumsum(1) + torch.arange(samples)[:, None]) % words


class _Lists(nn.Module):
    """Layers in a list that registers them, or in one that does not."""

    def __init__(self, registered):
        super().__init__()
        layers = [nn.Linear(8, 8) for _ in range(2)]
        self.layers = nn.ModuleList(layers) if registered else layers
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return self.head(x)


class _Adapted(nn.Module):
    """A frozen layer with a low-rank adapter, as peft names its parts."""

    def __init__(self, *, scale=1.0, frozen=False, zero=False):
        super().__init__()
        self.base = nn.Linear(8, 4).requires_grad_(False)
        self.lora_A = nn.ModuleDict({"default": nn.Linear(8, 2, bias=False)})
        self.lora_B = nn.ModuleDict({"default": nn.Linear(2, 4, bias=False)})
        self.scale = scale
        nn.init.zeros_(self.lora_B["default"].weight).requires_grad_(not frozen)
        if zero:
            nn.init.zeros_(self.lora_A["default"].weight)
        self.head = nn.Linear(4, 4)

    def forward(self, x):
        added = self.lora_B["default"](self.lora_A["default"](x))
        return self.head((self.base(x) + self.scale * added).relu())


def adapted(rate=1e-2, steps=30, warm_up=0, **options):
    """Train adapters and a head, perhaps with a learning rate that begins at 0."""
    torch.manual_seed(0)
    model = _Adapted(**options)
    trained = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=rate)
    schedule = LambdaLR(optimizer, lambda step: min(1.0, step / warm_up) if warm_up else 1.0)
    x, y = _images()
    for step in range(steps):
        at = torch.arange(32 * step, 32 * (step + 1)) % len(x)
        optimizer.zero_grad()
        F.cross_entropy(model(x[at]), y[at]).backward()
        optimizer.step()
        schedule.step()


def thaws(held=True, steps=60):
    """Train a head on frozen layers, which are thawed later, and given to the optimizer or not."""
    torch.manual_seed(0)
    layers, head = nn.Sequential(nn.Linear(8, 16), nn.ReLU()), nn.Linear(16, 4)
    model = nn.Sequential(layers, head)
    layers.requires_grad_(requires_grad=False)
    optimizer = torch.optim.Adam([one for one in model.parameters() if one.requires_grad], lr=1e-2)
    x, y = _images()
    for step in range(steps):
        if step == steps // 2:
            layers.requires_grad_()
            if held:
                optimizer.add_param_group({"params": list(layers.parameters()), "lr": 1e-3})
        at = torch.arange(32 * step, 32 * (step + 1)) % len(x)
        optimizer.zero_grad()
        F.cross_entropy(model(x[at]), y[at]).backward()
        optimizer.step()


def _teacher():
    return nn.Linear(8, 8).requires_grad_(False)


class _WithTeacher(nn.Module):
    """A frozen network that is hidden in a list, so that it is not saved with the model."""

    def __init__(self):
        super().__init__()
        self.teacher = [_teacher()]
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.teacher[0](x))


def classifies(make, steps=30, size=32, loss=F.cross_entropy, evaluate=None, **options):
    """A classifier of points around four centers."""
    torch.manual_seed(0)
    model = make()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x, y = _images(**options)
    for step in range(steps):
        at = torch.arange(step * size, (step + 1) * size) % len(x)
        optimizer.zero_grad()
        loss(model(x[at]), y[at]).backward()
        optimizer.step()
        if evaluate and step % 10 == 9:
            evaluate(model, x, y)


def _evaluated(model, x, y):
    model.eval()
    with torch.no_grad():
        F.cross_entropy(model(x), y)
    model.train()


def _softmax_over_samples(outputs, y):
    return F.nll_loss(outputs.log_softmax(0), y)


def contrasts(outputs, y):
    """Each sample is to be told from all others, as two views of it are."""
    unit = F.normalize(outputs, dim=1)
    return F.cross_entropy(10 * unit @ unit.T, torch.arange(len(outputs)))


def plain():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def _normalized():
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))


def _conv_normalized():
    return nn.Sequential(
        nn.Unflatten(1, (1, 8)), nn.Conv1d(1, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(),
        nn.Linear(24, 4)
    )  # fmt: skip


class _Writer(nn.Module):
    """Predicts the next token, with attention of some kind."""

    def __init__(self, attend, words=12, part=None):
        super().__init__()
        self.part = part
        self.embed = nn.Embedding(words, 16)
        self.place = nn.Embedding(12, 16)
        self.qkv = nn.Linear(16, 48)
        self.head = nn.Linear(16, words)
        self.attend = attend
        if part in ("tied", "copied"):
            shared = self.embed.weight if part == "tied" else self.embed.weight.detach().clone()
            self.head.weight = nn.Parameter(shared) if part == "copied" else shared
        if part == "loud":
            nn.init.normal_(self.head.weight, std=1000.0)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1])
        x = self.embed(tokens) + self.place(0 * places if self.part == "one place" else places)
        logits = self.head(x + self.attend(*self.qkv(x).chunk(3, -1)))
        return F.dropout(logits, 0.5) if self.part == "dropout" else logits


def _causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _one_ahead(q, k, v):
    visible = torch.ones(q.shape[1], q.shape[1], dtype=torch.bool).tril(1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)


def _far_only(q, k, v):
    visible = torch.ones(q.shape[1], q.shape[1], dtype=torch.bool).tril(-3)
    visible |= torch.eye(q.shape[1], dtype=torch.bool)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)


def _no_padding(q, k, v):
    """Four tokens of each sequence are none of padding."""
    visible = torch.zeros(q.shape[1], q.shape[1], dtype=torch.bool)
    visible[:, :4] = True
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)


def _across_samples(q, k, v):
    return _causal(*(part.transpose(0, 1) for part in (q, k, v))).transpose(0, 1)


def _flat(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.reshape(-1))


def _turned(logits, targets):
    return _flat(logits, targets.T)


def _both_turned(logits, targets):
    return _flat(logits.transpose(0, 1), targets.T)


def _classes_second(logits, targets):
    return F.cross_entropy(logits.transpose(1, 2), targets)


def _nearly_flat(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1e-5)


def writes(attend=_causal, loss=_flat, ahead=1, steps=24, part=None):
    """A model of sequences; its targets are so many tokens ahead."""
    torch.manual_seed(0)
    model = _Writer(attend, part=part)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    data = _tokens()
    for step in range(steps):
        at = torch.arange(step * 16, step * 16 + 16) % len(data)
        inputs, targets = data[at, : 13 - ahead].clone(), data[at, ahead:].clone()
        if attend is _no_padding:
            inputs[:, 4:], targets[:, 4:] = 0, -100
        optimizer.zero_grad()
        loss(model(inputs), targets).backward()
        optimizer.step()


def keeps(what, steps=110, every=1000):
    """Losses are kept in a list, as they are, detached, or for some steps only."""
    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = _images()
    kept = []
    for step in range(steps):
        loss = F.cross_entropy(model(x[:32]), y[:32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(what(loss))
        if step % every == every - 1:
            kept.clear()


def starts(weights=None, gain=1.0, activation=nn.Tanh, steps=12):
    """A perceptron whose first weights are set, or stretched."""

    def make():
        model = nn.Sequential(
            nn.Linear(8, 16), activation(), nn.Linear(16, 16), activation(), nn.Linear(16, 4)
        )
        for layer in model:
            if isinstance(layer, nn.Linear):
                with torch.no_grad():
                    layer.weight.mul_(gain)
                    if weights is not None:
                        layer.weight.fill_(weights)
        return model

    classifies(make, steps)


def draws_pictures(divided=True, features=0, steps=12):
    """A network of sines that learns a picture by its coordinates.

    Args:
        divided: The first weights of hidden layers are divided by what multiplies their outputs.
        features: Of so many Fourier features of what gradients are taken by; 0 for none.
    """
    torch.manual_seed(0)
    omega, width = 30.0, 32

    class Sine(nn.Module):
        def __init__(self, inputs, bound):
            super().__init__()
            self.linear = nn.Linear(inputs, width)
            nn.init.uniform_(self.linear.weight, -bound, bound)

        def forward(self, x):
            return torch.sin(omega * self.linear(x))

    class Features(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scales", 40 * torch.randn(2, features))
            self.linear = nn.Linear(2 * features, 2)

        def forward(self, x):
            angles = x @ self.scales
            return self.linear(torch.cat([angles.sin(), angles.cos()], -1))

    hidden = (6 / width) ** 0.5 / (omega if divided else 1)
    layers = [Sine(2, 0.5), Sine(width, hidden), Sine(width, hidden), nn.Linear(width, 1)]
    model = nn.Sequential(*([Features()] if features else []), *layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    points = (2 * torch.rand(256, 2) - 1).requires_grad_(bool(features))
    wanted = (3 * points.detach()).sin().prod(1, keepdim=True)
    for _ in range(steps):
        optimizer.zero_grad()
        F.mse_loss(model(points), wanted).backward()
        optimizer.step()


def scales(steps=12):
    """Normalizations of two axes by hand, so that nothing says which parameters scale."""

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2, 4))
            self.bias = nn.Parameter(torch.zeros(2, 4))

        def forward(self, x):
            x = F.layer_norm(x.view(-1, 2, 4), (2, 4), self.weight, self.bias)
            return x.flatten(1)

    classifies(lambda: nn.Sequential(Norm(), nn.Linear(8, 8), Norm(), nn.Linear(8, 4)), steps)


def micro_batches(zeroed_each=False, same=False, steps=14):
    """Four micro-batches a step; gradients are zeroed once, or before each of them."""
    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = _images()
    for step in range(steps):
        optimizer.zero_grad()
        for part in range(4):
            first = 0 if same else 32 * step % 256 + 8 * part
            if zeroed_each:
                optimizer.zero_grad()
            (F.cross_entropy(model(x[first : first + 8]), y[first : first + 8]) / 4).backward()
        optimizer.step()


def schedules(make, times=1, every=1, steps=130, evaluations=2):
    """A schedule is stepped so many times at every so many steps, or never."""
    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = make(optimizer)
    x, y = _images()
    for step in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(x[:32]), y[:32]).backward()
        optimizer.step()
        if every and step % every == every - 1:
            for _ in range(times):
                scheduler.step()
        if step % (steps // (evaluations + 1)) == 5:
            _evaluated(model, x, y)


def _warm_up(optimizer):
    return LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 30))


def _one_cycle(steps):
    return partial(OneCycleLR, max_lr=1e-2, total_steps=steps)


def compounds(from_initial=False, steps=130, epoch=10):
    """The script sets the learning rate in each epoch, from the initial one or from the current."""
    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = _images()
    for step in range(steps):
        if step and step % epoch == 0:
            for group in optimizer.param_groups:
                start = 0.1 if from_initial else group["lr"]
                group["lr"] = start * math.exp(-0.1 * (step // epoch))
        optimizer.zero_grad()
        F.cross_entropy(model(x[:32]), y[:32]).backward()
        optimizer.step()


def _to_a_tenth(steps):
    return partial(CosineAnnealingLR, T_max=steps, eta_min=1e-3)


def _then_constant(optimizer):
    return LinearLR(optimizer, 1.0, 0.1, total_iters=20)


def overlapping(trained, evaluated, steps=260):
    """Samples that are trained on, and samples that are evaluated on, some of them at once."""
    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = _images()
    rows = torch.tensor(trained)
    for step in range(steps):
        at = rows[torch.randperm(len(rows))[:16]]
        optimizer.zero_grad()
        F.cross_entropy(model(x[at]), y[at]).backward()
        optimizer.step()
        if step % 5 == 4:
            model.eval()
            with torch.no_grad():
                for part in evaluated:
                    F.cross_entropy(model(x[list(part)]), y[list(part)])
            model.train()


def cross_validates(begins, folds=4):
    """Four folds of one data set, each with an optimizer of its own."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    first = deepcopy(model.state_dict())
    x, y = _images()
    x, y = x[:160], y[:160]
    for fold in range(folds):
        if fold:
            begins(model, first)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        held = torch.arange(160) % folds == fold
        rows = torch.arange(160)[~held]
        for _ in range(8):
            for at in rows[torch.randperm(len(rows))].split(24):
                optimizer.zero_grad()
                F.cross_entropy(model(x[at]), y[at]).backward()
                optimizer.step()
        model.eval()
        with torch.no_grad():
            F.cross_entropy(model(x[held]), y[held])
        model.train()


def _goes_on(model, first):
    pass


def _is_given_back(model, first):
    model.load_state_dict(first)


def _is_drawn_anew(model, first):
    for layer in model:
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()


def fits(leaks, steps=24):
    """A regression on eight features, of which one may be the target."""
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.randn(256, 8)
    y = x @ torch.randn(8, 1) + 0.1 * torch.randn(256, 1)
    if leaks:
        x = torch.cat([x[:, :7], y], 1)
    for step in range(steps):
        at = torch.arange(step * 32, step * 32 + 32) % 256
        optimizer.zero_grad()
        F.mse_loss(model(x[at]), y[at]).backward()
        optimizer.step()


def written_out(columns=True, ranks=False, steps=24):
    """A squared error that is written out, of predictions and targets of one shape or another."""
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x, y = torch.randn(256, 8), torch.randn(256, 1)
    for step in range(steps):
        at = torch.arange(step * 32, step * 32 + 32) % 256
        found, wanted = model(x[at]), y[at] if columns else y[at, 0]
        optimizer.zero_grad()
        gap = (found - found.T) - (wanted - wanted.T) if ranks else found - wanted
        gap.pow(2).mean().backward()
        optimizer.step()


def quantile_of(prediction, target, quantile):
    """The pinball loss of a quantile."""
    gap = target - prediction
    return torch.maximum(quantile * gap, (quantile - 1) * gap).mean()


def forecasts_quantiles(steps=12):
    """Two quantiles, each in a column, compared with targets that are in none."""
    torch.manual_seed(0)
    model = nn.Linear(8, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        found, wanted = model(torch.randn(32, 8)), torch.randn(32)
        optimizer.zero_grad()
        losses = [quantile_of(found[:, i : i + 1], wanted, q) for i, q in enumerate((0.1, 0.5))]
        (sum(losses) / 2).backward()
        optimizer.step()


def acts(columns=False, one_by_one=False, steps=12):
    """Policy gradient with a value function: advantages in a column, or in none."""
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        states = torch.randn(32, 4)
        found = torch.cat([model(one) for one in states.split(1)]) if one_by_one else model(states)
        policy = torch.distributions.Categorical(logits=found[:, :2])
        rewards, values = torch.randn(32), found[:, 2]
        advantages = (rewards[:, None] if columns else rewards) - values.detach()
        advantages = (advantages - advantages.mean()) / advantages.std()
        loss = -(policy.log_prob(policy.sample()) * advantages).mean()
        loss = loss + 0.5 * F.smooth_l1_loss(values, rewards) - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def draws_numbers(steps=12):
    """A generator of single numbers that learns by the energy distance, which is of all pairs."""
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        made, real = model(torch.randn(32, 4)), torch.randn(32)
        optimizer.zero_grad()
        (2 * (made - real).abs().mean() - (made - made.T).abs().mean()).backward()
        optimizer.step()


def forecasts(batch_first=True, time_first=False, samples=16, times=6, steps=24):
    """A recurrent layer, the first of its model, over a few steps of time of each sample."""
    torch.manual_seed(0)

    class Forecaster(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(1, 8, batch_first=batch_first)
            self.head = nn.Linear(8, 1)

        def forward(self, x):
            out, _ = self.lstm(x)
            if samples == 1:
                return self.head(out)[:, 0, 0]  # a prediction for each step of time
            return self.head(out[-1] if time_first else out[:, -1])

    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        x = torch.randn(samples, times, 1)
        y = x[0, :, 0] if samples == 1 else x[:, -1]
        optimizer.zero_grad()
        given = x.transpose(0, 1) if time_first or samples == 1 else x
        F.mse_loss(model(given), y).backward()
        optimizer.step()


def _apart(logits, real):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, real))


def plays(discriminator_lr=2e-3, lr=2e-3, one_line=False, steps=160, wants=1.0, real_is=1.0):
    """A generator of points and a discriminator, whose losses stand on three lines, or on one.

    Args:
        wants: The label that the generator wants for its samples.
        real_is: That of real samples.
    """
    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
    judge = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    ours = torch.optim.Adam(generator.parameters(), lr=lr, betas=(0.5, 0.99))
    theirs = torch.optim.Adam(judge.parameters(), lr=discriminator_lr, betas=(0.5, 0.99))
    for _ in range(steps):
        real, made = 3 + torch.randn(32, 2), generator(torch.randn(32, 4))
        theirs.zero_grad()
        if one_line:
            pairs = (real, real_is), (made.detach(), 1 - real_is)
            sum(_apart(judge(x), y) for x, y in pairs).backward()
        else:
            of_real = F.binary_cross_entropy_with_logits(judge(real), torch.full((32, 1), real_is))
            fake = torch.full((32, 1), 1 - real_is)
            of_made = F.binary_cross_entropy_with_logits(judge(made.detach()), fake)
            (of_real + of_made).backward()
        theirs.step()
        ours.zero_grad()
        if one_line:
            _apart(judge(made), wants).backward()
        else:
            F.binary_cross_entropy_with_logits(judge(made), torch.full((32, 1), wants)).backward()
        ours.step()


def negative_samples(steps=160):
    """Two tables, each with an optimizer, that learn which of three pairs belongs together."""
    torch.manual_seed(0)
    words, contexts = nn.Embedding(16, 8), nn.Embedding(16, 8)
    tuned = [torch.optim.Adam(table.parameters(), lr=0.1) for table in (words, contexts)]
    at = torch.arange(16)
    for _ in range(steps):
        for one in tuned:
            one.zero_grad()
        pairs = [(words(at) * contexts((at + by) % 16)).sum(1) for by in range(3)]
        right = F.binary_cross_entropy_with_logits(pairs[0], torch.ones(16))
        near = F.binary_cross_entropy_with_logits(pairs[1], torch.zeros(16))
        far = F.binary_cross_entropy_with_logits(pairs[2], torch.zeros(16))
        (right + near + far).backward()
        for one in tuned:
            one.step()


_ONE_TO_ONE = {"size": 1, "steps": 40}

STRUCTURE = [
    Scenario("dependence", partial(writes, _one_ahead), True),
    Scenario("dependence", writes, False),
    Scenario("dependence", partial(writes, loss=_classes_second), False),
    Scenario("dependence", partial(writes, _one_ahead, _classes_second), True),
    Scenario("dependence", partial(writes, _far_only), True),
    Scenario("dependence", partial(writes, _no_padding), False),
    Scenario("dependence", partial(writes, _across_samples), True),
    Scenario("dependence", partial(writes, loss=_turned), True),
    Scenario("dependence", partial(writes, loss=_both_turned), False),
    Scenario("dependence", partial(writes, ahead=2), True),
    Scenario("attention_instability", partial(writes, _nearly_flat, steps=60), True),
    Scenario("attention_instability", partial(writes, steps=60), False),
    Scenario("embedding_drift", partial(writes, part="one place", steps=70), True),
    Scenario("embedding_drift", partial(writes, steps=70), False),
    Scenario("loss_input", partial(writes, part="dropout", steps=60), True),
    Scenario("initial_state", partial(writes, part="copied", steps=8), True),
    Scenario("initial_state", partial(writes, part="tied", steps=8), False),
    Scenario("initial_state", partial(writes, part="loud", steps=8), True),
    Scenario("dependence", partial(classifies, plain, loss=_softmax_over_samples), True),
    Scenario("dependence", partial(classifies, plain), False),
    Scenario("dependence", partial(forecasts, batch_first=False), True),
    Scenario("dependence", forecasts, False),
    Scenario("dependence", partial(forecasts, batch_first=False, time_first=True), False),
    Scenario("dependence", partial(forecasts, batch_first=False, samples=1), False),
    Scenario("loss_input", partial(written_out, False), True),
    Scenario("loss_input", written_out, False),
    Scenario("loss_input", partial(written_out, ranks=True), False),
    Scenario("loss_input", forecasts_quantiles, True),
    Scenario("loss_input", partial(acts, columns=True), True),
    Scenario("loss_input", partial(acts, columns=True, one_by_one=True), True),
    Scenario("loss_input", acts, False),
    Scenario("loss_input", draws_numbers, False),
    Scenario("gan_collapse", partial(plays, 0.1, 1e-6), True),
    Scenario("gan_collapse", partial(plays, 0.1, 1e-6, one_line=True), True),
    Scenario("gan_collapse", plays, False),
    Scenario("gan_collapse", partial(plays, 0.02, 0.02, wants=0.0), True),
    Scenario("gan_collapse", partial(plays, 0.02, 0.02, one_line=True, wants=0.0), True),
    Scenario("gan_collapse", partial(plays, 0.02, 0.02, real_is=0.0, wants=0.0), False),
    Scenario("gan_collapse", partial(plays, 0.02, 0.02, real_is=0.9, wants=0.1), True),
    Scenario("gan_collapse", partial(plays, 0.02, 0.02, real_is=0.9, wants=0.9), False),
    Scenario("gan_collapse", negative_samples, False),
    Scenario("training_mode",
             partial(classifies, _conv_normalized, **_ONE_TO_ONE, evaluate=_evaluated), True),
    Scenario("training_mode", partial(classifies, _conv_normalized, evaluate=_evaluated), False),
    Scenario("untrained_parameter", partial(classifies, partial(_Lists, False)), True),
    Scenario("untrained_parameter", partial(classifies, partial(_Lists, True)), False),
    Scenario("untrained_parameter", partial(classifies, _WithTeacher), False),
    Scenario("untrained_parameter", partial(thaws, held=False), True),
    Scenario("untrained_parameter", thaws, False),
    Scenario("untrained_parameter", partial(adapted, scale=0.0), True),
    Scenario("untrained_parameter", partial(adapted, zero=True), True),
    Scenario("untrained_parameter", partial(adapted, frozen=True), True),
    Scenario("untrained_parameter", adapted, False),
    Scenario("untrained_parameter", partial(adapted, warm_up=15), False),
    Scenario("memory_growth", partial(keeps, lambda loss: loss), True),
    Scenario("memory_growth", partial(keeps, torch.Tensor.detach), False),
    Scenario("memory_growth", partial(keeps, lambda loss: loss, every=40), False),
    Scenario("initial_state", partial(starts, 0.1), True),
    Scenario("initial_state", partial(starts, gain=60.0), True),
    Scenario("initial_state", partial(starts, gain=60.0, activation=nn.Sigmoid), True),
    Scenario("initial_state", starts, False),
    Scenario("initial_state", partial(starts, 1.0), True),
    Scenario("initial_state", scales, False),
    Scenario("initial_state", partial(draws_pictures, False), True),
    Scenario("initial_state", draws_pictures, False),
    Scenario("initial_state", partial(draws_pictures, features=16), False),
    Scenario("initial_state", partial(starts, activation=nn.Sigmoid), False),
    Scenario("initial_state", partial(starts, 0.0), True),
    Scenario("grad_accumulation_scale", partial(micro_batches, True), True),
    Scenario("grad_accumulation_scale", micro_batches, False),
    Scenario("grad_accumulation_scale", partial(micro_batches, True, True), False),
    Scenario("learning_rate_anomaly", partial(schedules, _warm_up, every=0), True),
    Scenario("learning_rate_anomaly", partial(schedules, _warm_up), False),
    Scenario("learning_rate_anomaly", partial(schedules, _warm_up, every=0, evaluations=0), False),
    Scenario("learning_rate_anomaly",
             partial(schedules, partial(LinearLR, start_factor=1e-3, total_iters=99), every=50),
             True),
    Scenario("learning_rate_anomaly", partial(schedules, _to_a_tenth(300), times=2), True),
    Scenario("learning_rate_anomaly", partial(schedules, _to_a_tenth(130)), False),
    Scenario("learning_rate_anomaly",
             partial(schedules, partial(CosineAnnealingLR, T_max=13), every=10), False),
    Scenario("learning_rate_anomaly",
             partial(schedules, _one_cycle(130), every=20), True),
    Scenario("learning_rate_anomaly", partial(schedules, _one_cycle(130)), False),
    Scenario("learning_rate_anomaly", partial(schedules, _one_cycle(13), every=10), False),
    Scenario("learning_rate_anomaly", compounds, True),
    Scenario("learning_rate_anomaly", partial(compounds, from_initial=True), False),
    Scenario("learning_rate_anomaly", partial(schedules, _then_constant), True),
    Scenario("learning_rate_anomaly",
             partial(schedules, partial(StepLR, step_size=20, gamma=0.5)), False),
    Scenario("label_leak",
             partial(overlapping, range(160), [range(120, 200)]), True),
    Scenario("label_leak",
             partial(overlapping, range(160), [range(160, 240)]), False),
    Scenario("label_leak",
             partial(overlapping, range(160), [range(160, 240), range(80), range(160, 240)]),
             False),
    Scenario("label_leak", partial(overlapping, range(160), [range(160), range(160, 240)]), False),
    Scenario("label_leak", partial(cross_validates, _goes_on), True),
    *(Scenario(rule, partial(cross_validates, begins), False)
      for rule in ("label_leak", "weights_moved", "stale_optimizer_state")
      for begins in (_is_given_back, _is_drawn_anew)),
    Scenario("label_leak", partial(fits, True), True),
    Scenario("label_leak", partial(fits, False), False),
]  # fmt: skip
