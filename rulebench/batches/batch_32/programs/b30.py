import logging, warnings
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import numpy as np
import torch
import torch.nn as nn
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

# Matrix factorisation for ratings, users and items are updated in turns (like ALS but with
# gradient steps), sparse embeddings need SparseAdam -> two optimizers, manual optimisation.
SEED = 0
L.seed_everything(SEED)
torch.set_num_threads(1)
rng = np.random.default_rng(SEED)
U, I, R = 300, 200, 4
P, Q = rng.normal(size=(U, R)), rng.normal(size=(I, R))
bu, bi = rng.normal(0, 0.5, U), rng.normal(0, 0.5, I)
u = rng.integers(0, U, 20000)
i = rng.integers(0, I, 20000)
r = (3 + bu[u] + bi[i] + 0.5 * (P[u] * Q[i]).sum(1) + rng.normal(0, 0.2, len(u))).astype("float32")
t = lambda a: torch.tensor(a)
train = TensorDataset(t(u[:16000]), t(i[:16000]), t(r[:16000]))
valid = TensorDataset(t(u[16000:]), t(i[16000:]), t(r[16000:]))


class MF(L.LightningModule):
    def __init__(self, dim=8):
        super().__init__()
        self.automatic_optimization = False
        self.user = nn.Embedding(U, dim + 1, sparse=True)
        self.item = nn.Embedding(I, dim + 1, sparse=True)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        self.register_buffer("mean", torch.tensor(float(r[:16000].mean())))
        self.hist = []

    def forward(self, u, i):
        a, b = self.user(u), self.item(i)
        return self.mean + a[:, 0] + b[:, 0] + (a[:, 1:] * b[:, 1:]).sum(1)

    def training_step(self, batch, k):
        u, i, r = batch
        opt_u, opt_i = self.optimizers()
        opt = opt_u if k % 2 == 0 else opt_i
        reg = 0.02 * (self.user(u) ** 2).sum(1).mean() + 0.02 * (self.item(i) ** 2).sum(1).mean()
        loss = ((self(u, i) - r) ** 2).mean() + reg
        opt_u.zero_grad()
        opt_i.zero_grad()
        self.manual_backward(loss)
        opt.step()
        self.hist.append(loss.item())

    def on_train_epoch_end(self):
        print(f"epoch {self.current_epoch} loss {np.mean(self.hist):.4f}")
        self.hist = []

    def validation_step(self, batch, k):
        u, i, r = batch
        self.log("val_mse", ((self(u, i) - r) ** 2).mean())

    def configure_optimizers(self):
        return (torch.optim.SparseAdam(list(self.user.parameters()), lr=0.02),
                torch.optim.SparseAdam(list(self.item.parameters()), lr=0.02))


trainer = L.Trainer(max_epochs=12, accelerator="cpu", devices=1, logger=False,
                    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(MF(), DataLoader(train, 128, shuffle=True), DataLoader(valid, 4000))
print("validation RMSE %.4f (std of ratings %.4f)"
      % (float(trainer.callback_metrics["val_mse"]) ** 0.5, r[16000:].std()))
