"""Movie-lens like factorisation with very large embedding tables.

Tables get SparseAdam, the little network on top gets AdamW, so Lightning's manual optimisation is used.
"""
import lightning as L
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SEED = 19
L.seed_everything(SEED)
USERS, ITEMS, DIM = 400, 300, 12
TABLE = 20_000  # ids are hashed into a big table, most slots stay unused

rng = np.random.default_rng(SEED)
pu, qi = rng.normal(size=(USERS, 4)), rng.normal(size=(ITEMS, 4))
bu, bi = 0.5 * rng.normal(size=USERS), 0.5 * rng.normal(size=ITEMS)
u, i = rng.integers(0, USERS, 24000), rng.integers(0, ITEMS, 24000)
r = 3.0 + bu[u] + bi[i] + 0.45 * (pu[u] * qi[i]).sum(1) + 0.2 * rng.normal(size=len(u))
hu, hi = (u * 7919 + 13) % TABLE, (i * 104729 + 7) % TABLE
ds = TensorDataset(torch.tensor(hu), torch.tensor(hi), torch.tensor(r, dtype=torch.float32))
train, test = torch.utils.data.random_split(ds, [20000, 4000], generator=torch.Generator().manual_seed(SEED))


class Recommender(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.user = nn.Embedding(TABLE, DIM, sparse=True)
        self.item = nn.Embedding(TABLE, DIM, sparse=True)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        self.mix = nn.Sequential(nn.Linear(3 * DIM, 32), nn.ReLU(), nn.Linear(32, 1))
        self.mix[-1].bias.data.fill_(3.0)

    def forward(self, u, i):
        a, b = self.user(u), self.item(i)
        return self.mix(torch.cat([a, b, a * b], 1)).squeeze(1)

    def training_step(self, batch, idx):
        sparse_opt, dense_opt = self.optimizers()
        u, i, r = batch
        loss = nn.functional.mse_loss(self(u, i), r)
        sparse_opt.zero_grad(); dense_opt.zero_grad()
        self.manual_backward(loss)
        sparse_opt.step(); dense_opt.step()
        self.log("mse", loss, on_epoch=True, on_step=False)

    def on_train_epoch_end(self):
        if self.current_epoch % 4 == 3:
            print("epoch", self.current_epoch + 1, "train mse %.4f" % self.trainer.callback_metrics["mse"].item())

    def test_step(self, batch, idx):
        u, i, r = batch
        self.log("rmse", ((self(u, i) - r) ** 2).mean().sqrt())

    def configure_optimizers(self):
        tables = list(self.user.parameters()) + list(self.item.parameters())
        return [torch.optim.SparseAdam(tables, lr=6e-3),
                torch.optim.AdamW(self.mix.parameters(), lr=2e-3, weight_decay=1e-3)]


model = Recommender()
trainer = L.Trainer(max_epochs=12, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, DataLoader(train, batch_size=128, shuffle=True))
res = trainer.test(model, DataLoader(test, batch_size=4000), verbose=False)
print("test RMSE %.4f (spread of the ratings %.4f)" % (res[0]["rmse"], r.std()))
