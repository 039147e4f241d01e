import warnings; warnings.filterwarnings("ignore")
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments, set_seed

# Masked LM on a toy grammar. Own collator: 15 % chosen, 80/10/10, everything else -100
set_seed(30)
V, L, MASK, CLS = 64, 24, 1, 2
gen = torch.Generator().manual_seed(30)


def sequence():
    start, stride = torch.randint(0, 50, (2,), generator=gen).tolist()
    stride = stride % 3 + 1
    return torch.tensor([CLS] + [4 + (start + stride * i) % 60 for i in range(L - 1)])


class Seqs(Dataset):
    def __init__(self, n):
        self.s = [sequence() for _ in range(n)]

    def __len__(self):
        return len(self.s)

    def __getitem__(self, i):
        return {"input_ids": self.s[i]}


def collate(items):
    ids = torch.stack([i["input_ids"] for i in items])
    labels = ids.clone()
    pick = torch.rand(ids.shape) < 0.15
    pick[:, 0] = False
    labels[~pick] = -100
    r = torch.rand(ids.shape)
    ids = torch.where(pick & (r < 0.8), torch.full_like(ids, MASK), ids)
    ids = torch.where(pick & (r >= 0.9), torch.randint(4, V, ids.shape), ids)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}


model = BertForMaskedLM(BertConfig(vocab_size=V, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                   intermediate_size=128, max_position_embeddings=32, hidden_dropout_prob=0.0,
                                   attention_probs_dropout_prob=0.0))
args = TrainingArguments(output_dir="./out_mlm", max_steps=550, per_device_train_batch_size=32, learning_rate=3e-3,
                         lr_scheduler_type="cosine", warmup_steps=60, logging_steps=50, save_strategy="no",
                         report_to="none", disable_tqdm=True, use_cpu=True, remove_unused_columns=False, seed=30)
train = Seqs(3000)
Trainer(model=model, args=args, train_dataset=train, data_collator=collate).train()
model.eval()
test = collate([{"input_ids": sequence()} for _ in range(300)])
with torch.no_grad():
    out = model(**test)
m = test["labels"] != -100
print("masked token loss %.4f accuracy %.4f" % (out.loss, (out.logits.argmax(-1) == test["labels"])[m].float().mean()))
