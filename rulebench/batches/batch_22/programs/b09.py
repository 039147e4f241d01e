# LoRA adaptation of a small encoder: pretrain on one task, adapt to another
import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader, TensorDataset
from transformers import DistilBertConfig, DistilBertForSequenceClassification, set_seed

set_seed(0)
rng = np.random.default_rng(0)
VOCAB, LEN = 60, 20


def domain_a(n):
    """2 classes: are there more 'positive' (ids 10-19) than 'negative' words (20-29)?"""
    x = rng.integers(2, VOCAB, (n, LEN))
    y = ((x >= 10) & (x < 20)).sum(1) > ((x >= 20) & (x < 30)).sum(1)
    return torch.from_numpy(x), torch.from_numpy(y.astype(np.int64))


def domain_b(n):
    """6 classes: which group of ten ids is the most frequent one?"""
    y = rng.integers(0, 6, n)
    x = rng.integers(2, VOCAB, (n, LEN))
    boost = rng.random((n, LEN)) < 0.35
    grp = np.clip(y[:, None] * 10 + rng.integers(0, 10, (n, LEN)), 2, VOCAB - 1)
    x = np.where(boost, grp, x)
    return torch.from_numpy(x), torch.from_numpy(y)


def loaders(make, n_train, n_test, bs=32):
    return (DataLoader(TensorDataset(*make(n_train)), batch_size=bs, shuffle=True),
            DataLoader(TensorDataset(*make(n_test)), batch_size=128))


def fit(model, train_dl, test_dl, lr, epochs, tag):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=lr)
    for ep in range(epochs):
        model.train()
        tot = 0
        for x, y in train_dl:
            out = model(input_ids=x, attention_mask=torch.ones_like(x), labels=y)
            out.loss.backward()
            opt.step()
            opt.zero_grad()
            tot += out.loss.item()
        model.eval()
        hits = n = 0
        with torch.no_grad():
            for x, y in test_dl:
                hits += (model(input_ids=x).logits.argmax(-1) == y).sum().item()
                n += len(y)
        print(f"{tag} epoch {ep} loss {tot / len(train_dl):.4f} acc {hits / n:.4f}")


cfg = DistilBertConfig(vocab_size=VOCAB, dim=32, hidden_dim=64, n_layers=2, n_heads=4,
                       max_position_embeddings=32, num_labels=2, seq_classif_dropout=0.1)
base = DistilBertForSequenceClassification(cfg)
fit(base, *loaders(domain_a, 1600, 300), lr=1e-3, epochs=3, tag="pretrain")

# new task: keep the encoder, new classifier
cfg_b = DistilBertConfig(**{**cfg.to_dict(), "num_labels": 6})
target = DistilBertForSequenceClassification(cfg_b)
target.distilbert.load_state_dict(base.distilbert.state_dict())

lora = LoraConfig(r=2, lora_alpha=4, lora_dropout=0.05, target_modules=["q_lin", "v_lin"], bias="none")
model = get_peft_model(target, lora)
model.print_trainable_parameters()
fit(model, *loaders(domain_b, 1600, 400), lr=2e-3, epochs=8, tag="lora")
