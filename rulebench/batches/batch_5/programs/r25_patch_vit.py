"""ViT from scratch on the 8x8 digits (config only, nothing downloaded)."""
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification, set_seed

set_seed(17)
torch.set_num_threads(1)
d = load_digits()
x = torch.tensor((d.images / 16.0 - 0.3) / 0.38, dtype=torch.float32)[:, None]
y = torch.tensor(d.target)
tr, te = train_test_split(np.arange(len(y)), test_size=0.2, stratify=d.target, random_state=17)


class Digits(torch.utils.data.Dataset):
    def __init__(self, idx):
        self.idx = idx

    def __len__(self):
        return len(self.idx)

    def __getitem__(self, i):
        return {"pixel_values": x[self.idx[i]], "labels": y[self.idx[i]]}


class SmoothTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        out = model(**inputs)
        if model.training:
            loss = torch.nn.functional.cross_entropy(out.logits, labels, label_smoothing=0.15)
        else:
            loss = torch.nn.functional.cross_entropy(out.logits, labels)
        return (loss, {"logits": out.logits}) if return_outputs else loss


model = ViTForImageClassification(ViTConfig(image_size=8, patch_size=2, num_channels=1, hidden_size=48, num_hidden_layers=2,
                                            num_attention_heads=4, intermediate_size=96, num_labels=10,
                                            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
args = TrainingArguments(output_dir="/tmp/_vit_digits", num_train_epochs=20, per_device_train_batch_size=32,
                         per_device_eval_batch_size=120, learning_rate=2e-3, weight_decay=0.05,
                         lr_scheduler_type="cosine_with_restarts", lr_scheduler_kwargs={"num_cycles": 3}, warmup_steps=40,
                         logging_steps=50, eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True,
                         disable_tqdm=True, seed=17)
trainer = SmoothTrainer(model=model, args=args, train_dataset=Digits(tr), eval_dataset=Digits(te),
                        compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())})
trainer.train()
print(trainer.evaluate())
