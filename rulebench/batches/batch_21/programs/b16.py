"""Domain adaptation with an adversarial domain head, two optimizers (Lightning, manual optimization)."""
import warnings

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")


def make_domain(n, shift, g):
    """Class signal in the first two columns, the other columns carry the domain."""
    y = torch.randint(0, 2, (n,), generator=g)
    x = torch.randn(n, 8, generator=g)
    x[:, 0] += 1.6 * (2 * y - 1)
    x[:, 1] -= 1.2 * (2 * y - 1)
    if shift:
        x[:, 2:5] += 0.5
        x[:, 5] += 2.5
    else:
        x[:, 5] += 2.5 * (2 * y - 1)
    return x, y


class AdversarialAdapter(L.LightningModule):
    def __init__(self, lam=1.0):
        super().__init__()
        self.automatic_optimization = False
        self.lam = lam
        self.encoder = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 16))
        self.classifier = nn.Sequential(nn.ReLU(), nn.Linear(16, 2))
        self.domain_head = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))

    def training_step(self, batch, batch_idx):
        opt_task, opt_dom = self.optimizers()
        xs, ys, xt = batch
        domain = torch.cat([torch.zeros(len(xs), 1), torch.ones(len(xt), 1)])

        # 1. domain head learns to tell the domains apart from the current features
        z = self.encoder(torch.cat([xs, xt])).detach()
        dom_loss = F.binary_cross_entropy_with_logits(self.domain_head(z), domain)
        opt_dom.zero_grad()
        self.manual_backward(dom_loss)
        opt_dom.step()

        # 2. encoder and classifier solve the task and confuse the domain head
        self.toggle_optimizer(opt_task)
        z = self.encoder(torch.cat([xs, xt]))
        task_loss = F.cross_entropy(self.classifier(z[: len(xs)]), ys)
        confusion = F.binary_cross_entropy_with_logits(self.domain_head(z), domain)
        opt_task.zero_grad()
        self.manual_backward(task_loss - self.lam * confusion)
        opt_task.step()
        self.untoggle_optimizer(opt_task)
        self.log_dict({"task": task_loss, "domain": dom_loss}, on_step=False, on_epoch=True)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        pred = self.classifier(self.encoder(x)).argmax(1)
        self.log("target_acc", (pred == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        if (self.current_epoch + 1) % 3 == 0:
            print(f"epoch {self.current_epoch + 1:2d} task {m['task']:.4f} domain {m['domain']:.4f} target acc {m['target_acc']:.4f}")

    def configure_optimizers(self):
        task_params = [*self.encoder.parameters(), *self.classifier.parameters()]
        return torch.optim.Adam(task_params, lr=5e-4), torch.optim.Adam(self.domain_head.parameters(), lr=2e-3)


def main():
    L.seed_everything(14, verbose=False)
    g = torch.Generator().manual_seed(14)
    xs, ys = make_domain(2000, False, g)
    xt, _ = make_domain(2000, True, g)
    x_val, y_val = make_domain(1000, True, g)
    train_dl = DataLoader(TensorDataset(xs, ys, xt), batch_size=64, shuffle=True)
    val_dl = DataLoader(TensorDataset(x_val, y_val), batch_size=500)
    trainer = L.Trainer(max_epochs=18, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
    model = AdversarialAdapter()
    trainer.fit(model, train_dl, val_dl)
    print("target accuracy:", round(trainer.callback_metrics["target_acc"].item(), 4))


if __name__ == "__main__":
    main()
