"""Prequential (test-then-train) learning on a drifting stream: one pass, in order of arrival, tiny batches."""
import logging, warnings
import lightning as L
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
SEED = 9
L.seed_everything(SEED)
N, DIM = 12000, 12


class Stream(IterableDataset):
    """the decision boundary turns slowly, and jumps at 60% of the stream"""

    def __iter__(self):
        rng = np.random.default_rng(SEED)
        w1, w2 = np.linalg.qr(rng.normal(size=(DIM, 2)))[0].T
        for t in range(N):
            ang = 2.0 * t / N + (1.8 if t > 0.6 * N else 0.0)
            w = np.cos(ang) * w1 + np.sin(ang) * w2
            x = rng.normal(size=DIM)
            yield x.astype("float32"), np.float32((x @ w + 0.1 * rng.normal()) > 0)


class OnlineLearner(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, 32), nn.ReLU(), nn.Linear(32, 1))
        self.frozen_at_2000 = None
        self.right, self.right_static = [], []

    def training_step(self, batch, batch_idx):
        x, y = batch
        logit = self.net(x).squeeze(1)
        # score the prediction made before this batch has been learned
        self.right += ((logit.detach() > 0).float() == y).float().tolist()
        if self.frozen_at_2000 is not None:
            with torch.no_grad():
                p = nn.functional.linear(torch.relu(nn.functional.linear(x, *self.frozen_at_2000[:2])), *self.frozen_at_2000[2:])
            self.right_static += ((p.squeeze(1) > 0).float() == y).float().tolist()
        if len(self.right) == 2000:
            self.frozen_at_2000 = [p.detach().clone() for p in self.net.parameters()]
        if len(self.right) % 1000 == 0:
            print(f"seen {len(self.right):6d}  accuracy on the last 1000: {np.mean(self.right[-1000:]):.3f}")
        return nn.functional.binary_cross_entropy_with_logits(logit, y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


model = OnlineLearner()
trainer = L.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, DataLoader(Stream(), batch_size=4))
print("prequential accuracy %.4f  (a model frozen after 2000 examples: %.4f)" % (np.mean(model.right), np.mean(model.right_static)))
