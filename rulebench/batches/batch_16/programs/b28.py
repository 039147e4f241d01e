import warnings, logging
import numpy as np
import torch
from torch import nn
import lightning as L
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import roc_auc_score
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(0)

# sensor readings: 24 channels driven by 4 hidden factors
rng = np.random.default_rng(0)
W = rng.normal(size=(4, 24))
normal = np.tanh(rng.normal(size=(3000, 4))) @ W + 0.1 * rng.normal(size=(3000, 24))
odd = normal[2700:] + rng.normal(size=(300, 24)) * 0.45
scaler = StandardScaler().fit(normal[:2400])
train = torch.tensor(scaler.transform(normal[:2400]), dtype=torch.float32)
test = torch.tensor(scaler.transform(np.vstack([normal[2400:2700], odd])), dtype=torch.float32)
is_odd = np.r_[np.zeros(300), np.ones(300)]


class AE(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 4))
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 24), nn.Sigmoid())

    def forward(self, x):
        return self.dec(self.enc(x))

    def training_step(self, batch, _):
        (x,) = batch
        loss = nn.functional.mse_loss(self(x), x)
        self.log("loss", loss, on_epoch=True, on_step=False)
        return loss

    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 4:
            print("epoch", self.current_epoch + 1, "mse", round(float(self.trainer.callback_metrics["loss"]), 4))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


ae = AE()
trainer = L.Trainer(max_epochs=20, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(ae, DataLoader(TensorDataset(train), batch_size=64, shuffle=True))
ae.eval()
with torch.no_grad():
    score = ((ae(test) - test) ** 2).mean(1).numpy()
print("anomaly AUC", roc_auc_score(is_odd, score))
