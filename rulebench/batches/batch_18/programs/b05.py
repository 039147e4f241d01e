import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

L.seed_everything(1)
N, D = 1600, 20
g = torch.Generator().manual_seed(3)
X = torch.randn(N, D, generator=g)
w = torch.randn(D, 4, generator=g)
Y = (torch.tanh(X @ w) + 0.1 * torch.randn(N, 4, generator=g)).argmax(1)
train_dl = DataLoader(TensorDataset(X[:1200], Y[:1200]), batch_size=32, shuffle=True)
val_dl = DataLoader(TensorDataset(X[1200:], Y[1200:]), batch_size=200)


class Classifier(L.LightningModule):
    def __init__(self, lr=0.05):
        super().__init__()
        self.automatic_optimization = False
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(D, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.manual_backward(loss)
        self.clip_gradients(opt, gradient_clip_val=5.0, gradient_clip_algorithm="norm")
        opt.step()
        self.log("train_loss", loss, on_epoch=True, on_step=False)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        out = self.net(x)
        self.log("val_loss", nn.functional.cross_entropy(out, y))
        self.log("val_acc", (out.argmax(1) == y).float().mean())

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        print({k: round(float(v), 4) for k, v in m.items()})

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9)


trainer = L.Trainer(max_epochs=10, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Classifier(), train_dl, val_dl)
