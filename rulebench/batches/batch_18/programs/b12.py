"""Lightning: multi-label tagging of synthetic documents with an EmbeddingBag, one-cycle schedule."""
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Docs(Dataset):
    def __init__(self, n, vocab=300, tags=6, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        for _ in range(n):
            y = (torch.rand(tags, generator=g) < 0.25).float()
            words = [torch.randint(120, vocab, (15,), generator=g)]
            for t in y.nonzero().flatten().tolist():
                words.append(torch.randint(20 * t, 20 * t + 20, (int(torch.randint(1, 5, (1,), generator=g)),), generator=g))
            self.rows.append((torch.cat(words), y))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    lengths = torch.tensor([0] + [len(w) for w, _ in rows[:-1]])
    return torch.cat([w for w, _ in rows]), lengths.cumsum(0), torch.stack([y for _, y in rows])


class Tagger(L.LightningModule):
    def __init__(self, vocab=300, tags=6, max_lr=0.01):
        super().__init__()
        self.save_hyperparameters()
        self.emb = nn.EmbeddingBag(vocab, 32, mode="sum")
        self.out = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, tags))
        self.loss = nn.BCEWithLogitsLoss()

    def forward(self, words, offsets):
        return self.out(self.emb(words, offsets))

    def training_step(self, batch, _):
        words, offsets, y = batch
        loss = self.loss(self(words, offsets), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True, batch_size=len(y))
        return loss

    def validation_step(self, batch, _):
        words, offsets, y = batch
        logits = self(words, offsets)
        exact = ((logits > 0) == y.bool()).all(1).float().mean()
        self.log_dict({"val_loss": self.loss(logits, y), "val_exact": exact}, batch_size=len(y))

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} " + " ".join(f"{k} {float(v):.4f}" for k, v in m.items()))

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.max_lr / 25)
        sched = torch.optim.lr_scheduler.OneCycleLR(opt, self.hparams.max_lr,
                                                    total_steps=self.trainer.estimated_stepping_batches)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


if __name__ == "__main__":
    L.seed_everything(0)
    train = DataLoader(Docs(4000), batch_size=64, shuffle=True, collate_fn=collate)
    val = DataLoader(Docs(400, seed=1), batch_size=200, collate_fn=collate)
    trainer = L.Trainer(max_epochs=6, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, gradient_clip_val=1.0,
                        num_sanity_val_steps=0)
    trainer.fit(Tagger(), train, val)
