import torch, warnings, logging
import lightning as L
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
warnings.filterwarnings("ignore"); logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(22)

# node classification style data on a ring graph: label depends on 3 hops
N, Fdim = 1200, 6
A = torch.zeros(N, N)
for k in (1, 2):
    i = torch.arange(N); A[i, (i + k) % N] = 1; A[(i + k) % N, i] = 1
A = A / A.sum(1, keepdim=True)
X = torch.randn(N, Fdim)
H = torch.relu(A @ X @ torch.randn(Fdim, 16)); S = torch.tanh(A @ (H @ torch.randn(16, 4)))
Y = ((S - S.mean(0)) / S.std(0)).argmax(1)
perm = torch.randperm(N); tr, te = perm[:900], perm[900:]

class GCN(L.LightningModule):
    def __init__(self, width=32, depth=3, lr=5e-3):
        super().__init__()
        self.lr = lr
        self.inp = nn.Linear(Fdim, width)
        self.hops = [nn.Linear(width, width) for _ in range(depth)]
        self.out = nn.Linear(width, 4)
    def forward(self, x):
        h = torch.relu(self.inp(x))
        for lin in self.hops:
            h = torch.relu(lin(A @ h))
        return self.out(h)
    def training_step(self, batch, _):
        (idx,) = batch
        loss = nn.functional.cross_entropy(self(X)[idx], Y[idx])
        self.log("loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)
    def on_train_epoch_end(self):
        if self.current_epoch % 10 == 0:
            print("epoch", self.current_epoch, "loss %.4f" % self.trainer.callback_metrics["loss"])

model = GCN()
trainer = L.Trainer(max_epochs=60, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, DataLoader(TensorDataset(tr), batch_size=180, shuffle=True))
model.eval()
with torch.no_grad():
    print("test accuracy %.4f" % (model(X).argmax(1)[te] == Y[te]).float().mean())
