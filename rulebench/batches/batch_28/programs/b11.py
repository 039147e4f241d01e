# blob segmentation, tiny U-Net, Lightning
import logging, warnings
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import numpy as np
import torch, torch.nn as nn, torch.nn.functional as F
import lightning as L
from torch.utils.data import Dataset, DataLoader

L.seed_everything(4)
S = 24


def make(n, seed):
    r = np.random.default_rng(seed)
    yy, xx = np.mgrid[:S, :S]
    imgs, masks = [], []
    for _ in range(n):
        img = r.normal(0, 0.35, (S, S)); m = np.zeros((S, S))
        cx, cy, rad = r.uniform(5, S - 5), r.uniform(5, S - 5), r.uniform(3, 5)
        disc = (xx - cx) ** 2 + (yy - cy) ** 2 < rad ** 2
        m[disc] = 1; img[disc] += 1.0
        # a distractor: a square that does not count
        a, b = r.integers(0, S - 6, 2)
        sq = np.zeros((S, S), bool); sq[a:a + 5, b:b + 5] = True
        img[sq & ~disc] -= 1.0
        imgs.append(img); masks.append(m)
    return np.array(imgs, "float32")[:, None], np.array(masks, "float32")[:, None]


class RandomFlip:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, img):
        if torch.rand(1).item() < self.p:
            img = img.flip(-1)
        if torch.rand(1).item() < self.p:
            img = img.flip(-2)
        return img


class Blobs(Dataset):
    def __init__(self, n, seed, transform=None):
        self.x, self.m = make(n, seed)
        self.transform = transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x, m = torch.from_numpy(self.x[i]), torch.from_numpy(self.m[i])
        if self.transform:
            x, m = self.transform(x), self.transform(m)
        return x, m


def cbr(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class UNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.mid = cbr(1, 8), cbr(8, 16), cbr(16, 16)
        self.u1, self.out = cbr(16 + 8, 8), nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.mid(self.d2(F.max_pool2d(a, 2)))
        return self.out(self.u1(torch.cat([F.interpolate(b, scale_factor=2), a], 1)))

    def training_step(self, batch, _):
        x, m = batch
        loss = F.binary_cross_entropy_with_logits(self(x), m)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, _):
        x, m = batch
        p = (self(x) > 0).float()
        inter, union = (p * m).sum((1, 2, 3)), ((p + m) > 0).float().sum((1, 2, 3))
        self.log("val_iou", (inter / union).mean())

    def on_validation_epoch_end(self):
        print("epoch", self.current_epoch, {k: round(v.item(), 4) for k, v in self.trainer.callback_metrics.items()})

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


train = DataLoader(Blobs(800, 0, RandomFlip()), batch_size=32, shuffle=True)
val = DataLoader(Blobs(200, 1), batch_size=100)
model = UNet()
tr = L.Trainer(max_epochs=8, accelerator="cpu", logger=False, enable_checkpointing=False,
               enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
tr.fit(model, train, val)
print("final val IoU: %.4f" % tr.callback_metrics["val_iou"].item())
