import logging, warnings
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler


class CancerData(L.LightningDataModule):
    def __init__(self, batch_size=16, seed=33):
        super().__init__()
        self.batch_size, self.seed = batch_size, seed

    def setup(self, stage=None):
        X, y = load_breast_cancer(return_X_y=True)
        Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.3, stratify=y, random_state=self.seed)
        scaler = StandardScaler().fit(Xa)
        ds = lambda a, b: TensorDataset(torch.tensor(scaler.transform(a)).float(), torch.tensor(b).float())
        self.train, self.test = ds(Xa, ya), ds(Xb, yb)

    def train_dataloader(self):
        return DataLoader(self.train, self.batch_size, shuffle=True)

    def test_dataloader(self):
        return DataLoader(self.test, 64)


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(30, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
        self.loss = nn.BCEWithLogitsLoss()
        self.running = []

    def forward(self, x):
        return self.model(x).squeeze(-1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.loss(self(x), y)
        self.running.append(loss.item())
        return loss

    def on_train_epoch_end(self):
        if self.current_epoch % 4 == 0:
            print("epoch", self.current_epoch, "train loss %.4f" % (sum(self.running) / len(self.running)))
        self.running.clear()

    def test_step(self, batch, batch_idx):
        x, y = batch
        self.log("test_acc", ((self(x) > 0) == y.bool()).float().mean(), batch_size=len(y))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3, weight_decay=1e-2)


if __name__ == "__main__":
    L.seed_everything(33, verbose=False)
    dm = CancerData()
    net = Classifier()
    trainer = L.Trainer(max_epochs=20, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(net, dm)
    print("test accuracy %.4f" % trainer.test(net, dm, verbose=False)[0]["test_acc"])
