import torch
from torch import nn
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

# Matrix factorisation for ratings: sparse embedding tables get SparseAdam, the small tower gets Adam.
SEED = 25
L.seed_everything(SEED)
NU, NI, K = 3000, 800, 16
torch.set_num_threads(1)

pu, qi = torch.randn(NU, 4), torch.randn(NI, 4)
bu, bi = 0.4 * torch.randn(NU), 0.5 * torch.randn(NI)
u = torch.randint(0, NU, (90000,))
i = torch.randint(0, NI, (90000,))
r = 3.5 + bu[u] + bi[i] + 0.35 * (pu[u] * qi[i]).sum(1) + 0.3 * torch.randn(len(u))
cut = 80000
train = DataLoader(TensorDataset(u[:cut], i[:cut], r[:cut]), batch_size=512, shuffle=True)
valid = DataLoader(TensorDataset(u[cut:], i[cut:], r[cut:]), batch_size=4096)


class Rec(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.U = nn.Embedding(NU, K, sparse=True)
        self.I = nn.Embedding(NI, K, sparse=True)
        nn.init.normal_(self.U.weight, std=0.1)
        nn.init.normal_(self.I.weight, std=0.1)
        self.tower = nn.Sequential(nn.Linear(3 * K, 32), nn.ReLU(), nn.Linear(32, 1))
        self.register_buffer("mean", r[:cut].mean())
        self.se = 0.0

    def forward(self, u, i):
        a, b = self.U(u), self.I(i)
        return self.mean + self.tower(torch.cat([a, b, a * b], 1)).squeeze(1) + (a * b).sum(1)

    def training_step(self, batch, k):
        u, i, r = batch
        opts = self.optimizers()
        loss = nn.functional.mse_loss(self(u, i), r)
        for o in opts:
            o.zero_grad()
        self.manual_backward(loss)
        for o in opts:
            o.step()
        if k == 0:
            print("epoch", self.current_epoch, "loss", round(loss.item(), 4))

    def on_validation_epoch_start(self):
        self.se = 0.0

    def validation_step(self, batch, _):
        u, i, r = batch
        self.se += ((self(u, i) - r) ** 2).sum().item()

    def on_validation_epoch_end(self):
        print("   val rmse", round((self.se / len(valid.dataset)) ** 0.5, 4))

    def configure_optimizers(self):
        return [torch.optim.SparseAdam(list(self.U.parameters()) + list(self.I.parameters()), lr=5e-3),
                torch.optim.Adam(self.tower.parameters(), lr=1e-3, weight_decay=1e-4)]


m = Rec()
L.Trainer(max_epochs=8, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
          enable_model_summary=False, num_sanity_val_steps=0).fit(m, train, valid)
base = ((r[cut:] - r[:cut].mean()) ** 2).mean().sqrt().item()
print(f"rmse of the mean: {base:.4f}   rmse of the model: {(m.se / len(valid.dataset)) ** 0.5:.4f}")
