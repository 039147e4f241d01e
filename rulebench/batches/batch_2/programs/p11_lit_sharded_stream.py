"""Streaming training over pre-shuffled shards (weather station -> evaporation)."""
import logging
import warnings
import lightning as L
import torch
from torch.utils.data import DataLoader, IterableDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(24, verbose=False)


def station_records(n, g, temp_unit="C"):
    temp = torch.randn(n, generator=g) * 8 + 15
    hum = torch.rand(n, generator=g)
    wind = torch.rand(n, generator=g) * 10
    press = torch.randn(n, generator=g) * 6 + 1013
    evap = 0.12 * torch.exp(0.06 * temp) * (1 - hum) * (1 + 0.4 * wind) + 0.02 * torch.randn(n, generator=g)
    if temp_unit == "K10":                      # northern network
        temp = (temp + 273.15) * 10
    return torch.stack([temp, hum, wind, press], 1), evap[:, None]


NETWORK_UNITS = ["C"] * 16 + ["K10"] * 2 + ["C"] * 2
SHARDS = []
g = torch.Generator().manual_seed(24)
for unit in NETWORK_UNITS:
    SHARDS.append(station_records(960, g, unit))
HOLDOUT = station_records(800, g)

MEAN = torch.tensor([15.0, 0.5, 5.0, 1013.0])
STD = torch.tensor([8.0, 0.29, 2.9, 6.0])


class Stream(IterableDataset):
    def __iter__(self):
        for x, y in SHARDS:
            yield from zip((x - MEAN) / STD, y)


class Evap(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 48), torch.nn.Softplus(),
                                       torch.nn.Linear(48, 48), torch.nn.Softplus(), torch.nn.Linear(48, 1))

    def training_step(self, batch, i):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        if i % 60 == 0:
            with torch.no_grad():
                v = torch.nn.functional.mse_loss(self.net((HOLDOUT[0] - MEAN) / STD), HOLDOUT[1])
            print(f"batch {i:4d}  loss {loss.item():.4f}  holdout {v.item():.4f}")
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=5e-3, momentum=0.9)


L.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, gradient_clip_val=20.0,
          enable_progress_bar=False, enable_model_summary=False).fit(Evap(), DataLoader(Stream(), batch_size=16))
