import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

SEED = 11


def augment(x):
    """x: (B, 1, 8, 8) -> random shift by up to one pixel, pixel dropout and noise"""
    b = x.size(0)
    padded = F.pad(x, (1, 1, 1, 1))
    dy = torch.randint(0, 3, (b,))
    dx = torch.randint(0, 3, (b,))
    out = torch.stack([padded[i, :, dy[i]:dy[i] + 8, dx[i]:dx[i] + 8] for i in range(b)])
    out = out * (torch.rand_like(out) > 0.15)
    return out + 0.05 * torch.randn_like(out)


class SimCLR(L.LightningModule):
    def __init__(self, temperature=0.2):
        super().__init__()
        self.t = temperature
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1, stride=2), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 16, 64), nn.ReLU(),
        )
        self.projector = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32))
        self.seen = []

    def training_step(self, batch, batch_idx):
        (x,) = batch
        za = F.normalize(self.projector(self.encoder(augment(x))), dim=1)
        zb = F.normalize(self.projector(self.encoder(augment(x))), dim=1)
        logits = za @ zb.T / self.t
        target = torch.arange(len(x), device=self.device)
        loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2
        self.seen.append(loss.item())
        return loss

    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 0:
            print(f"epoch {self.current_epoch}: nt-xent {sum(self.seen) / len(self.seen):.3f}")
        self.seen.clear()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3, weight_decay=1e-4)


@torch.no_grad()
def retrieval(model, x):
    """share of the held-out images whose distorted copy is nearest to themselves"""
    model.eval()
    q = F.normalize(model.projector(model.encoder(augment(x))), dim=1)
    g = F.normalize(model.projector(model.encoder(x)), dim=1)
    model.train()
    return ((q @ g.T).argmax(1) == torch.arange(len(x))).float().mean().item()


if __name__ == "__main__":
    L.seed_everything(SEED)
    X = torch.tensor(load_digits().data / 16.0, dtype=torch.float32).view(-1, 1, 8, 8)
    xa, xb = train_test_split(X, test_size=0.3, random_state=SEED)
    net = SimCLR()
    before = retrieval(net, xb)
    dl = DataLoader(TensorDataset(xa), batch_size=128, shuffle=True, drop_last=True)
    trainer = L.Trainer(max_epochs=25, accelerator="cpu", logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(net, dl)
    print(f"retrieval@1 among {len(xb)} held-out images, untrained: {before:.4f}")
    print(f"retrieval@1 among {len(xb)} held-out images, trained  : {retrieval(net, xb):.4f}")
