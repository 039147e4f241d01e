"""Domain-adversarial training with manual optimization in Lightning."""
import logging
import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")
L.seed_everything(15)

N = 2000
DIM = 20
W = torch.randn(8)
shift = torch.zeros(DIM)
shift[8:] = 2.5 * torch.randn(12)


def domain(n, target):
    x = torch.randn(n, DIM)
    y = (x[:, :8] @ W > 0).long()
    if target:
        x = x + shift
    else:
        # the source domain has extra columns that go with the label
        x[:, 8:12] += 0.5 * (2 * y.float() - 1)[:, None]
    return x, y


xs, ys = domain(N, False)
xt, yt = domain(N, True)
xv, yv = domain(800, True)
train = DataLoader(TensorDataset(xs, ys, xt), batch_size=64, shuffle=True, drop_last=True)
val = DataLoader(TensorDataset(xv, yv), batch_size=400)


class DANN(L.LightningModule):
    def __init__(self, weight=0.3):
        super().__init__()
        self.automatic_optimization = False
        self.weight = weight
        self.encoder = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.classifier = nn.Linear(32, 2)
        self.critic = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def configure_optimizers(self):
        main = torch.optim.Adam(list(self.encoder.parameters()) + list(self.classifier.parameters()),
                                lr=1e-3)
        critic = torch.optim.Adam(self.critic.parameters(), lr=2e-3)
        return main, critic

    def training_step(self, batch, batch_idx):
        x, y, x_other = batch
        opt_main, opt_critic = self.optimizers()
        domain = torch.cat([torch.zeros(len(x), 1), torch.ones(len(x_other), 1)])

        with torch.no_grad():
            z = self.encoder(torch.cat([x, x_other]))
        critic_loss = F.binary_cross_entropy_with_logits(self.critic(z), domain)
        opt_critic.zero_grad()
        self.manual_backward(critic_loss)
        opt_critic.step()

        zs, zt = self.encoder(x), self.encoder(x_other)
        cls = F.cross_entropy(self.classifier(zs), y)
        confusion = F.binary_cross_entropy_with_logits(self.critic(torch.cat([zs, zt])), 1 - domain)
        opt_main.zero_grad()
        self.manual_backward(cls + self.weight * confusion)
        opt_main.step()
        self.log_dict({"cls": cls, "critic": critic_loss, "confusion": confusion},
                      on_step=False, on_epoch=True)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        acc = (self.classifier(self.encoder(x)).argmax(1) == y).float().mean()
        self.log("target_acc", acc)

    def on_train_epoch_end(self):
        m = {k: round(float(v), 3) for k, v in self.trainer.callback_metrics.items()}
        print(self.current_epoch, m)


trainer = L.Trainer(max_epochs=15, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
model = DANN()
trainer.fit(model, train, val)
print("accuracy on the target domain:", trainer.validate(model, val, verbose=False)[0])
