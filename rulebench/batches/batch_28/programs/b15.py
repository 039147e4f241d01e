import logging, warnings
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import copy, math
import torch, torch.nn as nn
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

L.seed_everything(1)


def ring(n):
    k = torch.randint(0, 6, (n,))
    a = k * (2 * math.pi / 6)
    return torch.stack([a.cos(), a.sin()], 1) * 1.5 + 0.25 * torch.randn(n, 2)


def mlp(i, o, act):
    return nn.Sequential(nn.Linear(i, 96), act(), nn.Linear(96, 96), act(), nn.Linear(96, o))


class WGAN(L.LightningModule):
    """The original one (Arjovsky 2017): clipping, RMSprop, no sigmoid, five critic steps per generator step."""

    def __init__(self, clip=0.1, n_critic=5):
        super().__init__()
        self.automatic_optimization = False
        self.clip, self.n_critic = clip, n_critic
        self.gen, self.critic = mlp(4, 2, nn.ReLU), mlp(2, 1, nn.ReLU)
        self.avg = copy.deepcopy(self.gen).requires_grad_(False)     # running average, only for sampling

    def configure_optimizers(self):
        return (torch.optim.RMSprop(self.gen.parameters(), lr=3e-4),
                torch.optim.RMSprop(self.critic.parameters(), lr=1e-3))

    def training_step(self, batch, i):
        real, = batch
        og, oc = self.optimizers()
        with torch.no_grad():
            fake = self.gen(torch.randn(len(real), 4))
        lc = self.critic(fake).mean() - self.critic(real).mean()
        oc.zero_grad(); self.manual_backward(lc); oc.step()
        with torch.no_grad():
            for p in self.critic.parameters():
                p.clamp_(-self.clip, self.clip)
        if i % self.n_critic == self.n_critic - 1:
            self.toggle_optimizer(og)
            lg = -self.critic(self.gen(torch.randn(len(real), 4))).mean()
            og.zero_grad(); self.manual_backward(lg); og.step()
            self.untoggle_optimizer(og)
            with torch.no_grad():
                for a, p in zip(self.avg.parameters(), self.gen.parameters()):
                    a.lerp_(p, 0.02)
            self.log("g", lg.detach())
        self.log("critic", lc.detach())

    def on_train_epoch_end(self):
        for o in self.optimizers():
            o.param_groups[0]["lr"] *= 0.97
        m = self.trainer.callback_metrics
        if self.current_epoch % 5 == 0:
            print("epoch", self.current_epoch, "critic %.4f" % m["critic"], "sw %.3f" % sliced(self.avg(torch.randn(1500, 4)), held))


def sliced(a, b):
    th = torch.linspace(0, math.pi, 60)
    d = torch.stack([th.cos(), th.sin()])
    return ((a @ d).sort(0)[0] - (b @ d).sort(0)[0]).abs().mean().item()


train, held = ring(12800), ring(1500)
model = WGAN()
print("sw before: %.3f   real against real: %.3f" % (sliced(model.gen(torch.randn(1500, 4)).detach(), held), sliced(train[:1500], held)))
L.Trainer(max_epochs=45, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
          enable_model_summary=False).fit(model, DataLoader(TensorDataset(train), batch_size=128, shuffle=True, drop_last=True))
g = model.avg(torch.randn(1500, 4))
print("sliced Wasserstein to fresh samples: %.3f" % sliced(g, held))
