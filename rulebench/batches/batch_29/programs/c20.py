import torch, lightning as L, torch.nn as nn, torch.nn.functional as F, logging, warnings
from torch.utils.data import TensorDataset, DataLoader
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
warnings.filterwarnings("ignore"); logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
SEED = 20
L.seed_everything(SEED)

X, y = load_breast_cancer(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=.3, stratify=y, random_state=SEED)
sc = StandardScaler().fit(Xtr)
def loader(a, b, shuffle=False):
    return DataLoader(TensorDataset(torch.tensor(sc.transform(a)).float(), torch.tensor(b).float()), batch_size=32, shuffle=shuffle)

class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Dropout(.2), nn.Linear(32, 1))
    def forward(self, x): return self.net(x).squeeze(-1)
    def training_step(self, b, i):
        loss = F.binary_cross_entropy_with_logits(self(b[0]), b[1])
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss
    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 0: print(self.current_epoch, float(self.trainer.callback_metrics.get("train_loss", float("nan"))))
    def test_step(self, b, i):
        self.log("test_acc", ((self(b[0]) > 0) == (b[1] > .5)).float().mean())
    def configure_optimizers(self): return torch.optim.Adam(self.parameters(), lr=2e-3)

net = Net()
tr = L.Trainer(max_epochs=40, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
tr.fit(net, loader(Xtr, ytr, True))
res = tr.test(net, loader(Xte, yte), verbose=False)
print("test accuracy:", round(res[0]["test_acc"], 4))
