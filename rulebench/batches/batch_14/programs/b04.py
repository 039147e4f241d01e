# tiny ViT on digits with the HF Trainer
import numpy as np
import torch
from sklearn.datasets import load_digits
from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification, set_seed

set_seed(0)
d = load_digits()
px = torch.tensor(d.images / 8 - 1, dtype=torch.float32)[:, None]
order = np.random.RandomState(0).permutation(len(px))


class DS(torch.utils.data.Dataset):
    def __init__(self, idx):
        self.idx = idx

    def __len__(self):
        return len(self.idx)

    def __getitem__(self, i):
        j = self.idx[i]
        return {"pixel_values": px[j], "labels": int(d.target[j])}


config = ViTConfig(image_size=8, patch_size=2, num_channels=1, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                   intermediate_size=96, num_labels=10)
model = ViTForImageClassification(config)
args = TrainingArguments(output_dir="/tmp/vit_digits", num_train_epochs=15, per_device_train_batch_size=32,
                         per_device_eval_batch_size=256, learning_rate=2e-3, warmup_steps=40, lr_scheduler_type="cosine",
                         weight_decay=0.05, eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True,
                         disable_tqdm=True, logging_steps=90)


def metrics(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


trainer = Trainer(model=model, args=args, train_dataset=DS(order[:1400]), eval_dataset=DS(order[1400:]), compute_metrics=metrics)
trainer.train()
print(trainer.evaluate())
