import math, logging, warnings
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

warnings.filterwarnings("ignore")
set_seed(42)
torch.set_num_threads(1)

# A made-up little language: words are built from a random grammar.
VOCAB = 32
BOS, EOS = 0, 1
rng = np.random.default_rng(42)
NEXT = np.stack([rng.permutation(np.arange(2, VOCAB))[:4] for _ in range(VOCAB)])
P = np.array([0.7, 0.15, 0.1, 0.05])


def sentence(length=30):
    s = [BOS]
    while len(s) < length:
        s.append(int(NEXT[s[-1]][rng.choice(4, p=P)]))
    return s + [EOS]


class TextDataset(Dataset):
    def __init__(self, n):
        self.rows = [sentence() for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids = torch.tensor(self.rows[i])
        # the model has to predict the following token
        input_ids = ids[:-1]
        labels = ids[1:]
        return {"input_ids": input_ids, "labels": labels}


train_set = TextDataset(1600)
heldout = [sentence() for _ in range(200)]

config = GPT2Config(vocab_size=VOCAB, n_positions=40, n_embd=48, n_layer=2, n_head=4,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=BOS, eos_token_id=EOS)
model = GPT2LMHeadModel(config)

args = TrainingArguments(output_dir="./out", per_device_train_batch_size=32, num_train_epochs=12, learning_rate=2e-3,
                         logging_steps=60, save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True,
                         lr_scheduler_type="cosine", warmup_steps=20, seed=42)
trainer = Trainer(model=model, args=args, train_dataset=train_set)
trainer.train()

# how often is the most likely continuation the right one?
model.eval()
ids = torch.tensor(heldout)
with torch.no_grad():
    logits = model(ids[:, :-1]).logits
hits = (logits.argmax(-1) == ids[:, 1:])[:, :-1].float().mean().item()
nll = torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, VOCAB), ids[:, 1:-1].reshape(-1)).item()
print(f"next-token accuracy on held-out sentences: {hits:.4f}   perplexity: {math.exp(nll):.2f}")
