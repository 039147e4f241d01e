import warnings, logging
import torch
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class SamClassifier(L.LightningModule):
    """Sharpness-aware minimisation (Foret et al. 2021): climb by rho, take the gradient there, come back, step."""

    def __init__(self, rho=0.05, lr=0.05):
        super().__init__()
        self.automatic_optimization = False
        self.rho, self.lr = rho, lr
        self.net = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.ReLU(),
                                       torch.nn.Linear(96, 96), torch.nn.ReLU(), torch.nn.Linear(96, 10))
        self.val_acc = []

    def training_step(self, batch, i):
        x, y = batch
        opt = self.optimizers()
        opt.zero_grad()
        loss = F.cross_entropy(self.net(x), y)
        self.manual_backward(loss)
        with torch.no_grad():
            params = [p for p in self.net.parameters() if p.grad is not None]
            norm = torch.sqrt(sum((p.grad ** 2).sum() for p in params)) + 1e-12
            eps = [p.grad * (self.rho / norm) for p in params]
            for p, e in zip(params, eps):
                p.add_(e)
        opt.zero_grad()
        self.manual_backward(F.cross_entropy(self.net(x), y))
        with torch.no_grad():
            for p, e in zip(params, eps):
                p.sub_(e)
        opt.step()
        self.log("train_loss", loss, on_epoch=True, on_step=False)

    def on_train_epoch_end(self):
        self.lr_schedulers().step()

    def validation_step(self, batch, i):
        x, y = batch
        self.val_acc.append((self.net(x).argmax(1) == y).float().mean().item())

    def on_validation_epoch_end(self):
        if self.current_epoch % 4 == 0:
            print("epoch", self.current_epoch, "val acc %.4f" % (sum(self.val_acc) / len(self.val_acc)))
        self.val_acc.clear()

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9, weight_decay=5e-4)
        return [opt], [torch.optim.lr_scheduler.CosineAnnealingLR(opt, 24)]


L.seed_everything(3)
d = load_digits()
xa, xb, ya, yb = train_test_split(torch.tensor(d.data / 16, dtype=torch.float32), torch.tensor(d.target),
                                  test_size=0.3, random_state=3)
model = SamClassifier()
tr = L.Trainer(max_epochs=24, accelerator="cpu", logger=False, enable_checkpointing=False,
               enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
tr.fit(model, DataLoader(TensorDataset(xa, ya), 32, shuffle=True), DataLoader(TensorDataset(xb, yb), 540))
with torch.no_grad():
    print("test accuracy %.4f" % (model.net(xb).argmax(1) == yb).float().mean())
