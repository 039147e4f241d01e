"""
Train a tiny Llama-style causal LM from scratch with the HF Trainer on a synthetic
"melody" language: each note depends on the two previous notes.
"""
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, set_seed

set_seed(6)
torch.set_num_threads(1)
NOTES, LENGTH = 24, 33
rng = np.random.default_rng(6)
table = rng.dirichlet(np.full(NOTES, 0.03), size=(NOTES, NOTES))


def melody():
    s = list(rng.integers(0, NOTES, 2))
    while len(s) < LENGTH:
        s.append(rng.choice(NOTES, p=table[s[-2], s[-1]]))
    return s


class Melodies(Dataset):
    def __init__(self, n):
        self.data = torch.tensor(np.array([melody() for _ in range(n)]))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        s = self.data[i]
        # the model reads s[0..L-2] and must produce the next note at each position
        return {"input_ids": s[:-1], "labels": s[1:]}


train, test = Melodies(2500), Melodies(300)
model = LlamaForCausalLM(LlamaConfig(vocab_size=NOTES, hidden_size=64, intermediate_size=128,
                                     num_hidden_layers=2, num_attention_heads=4,
                                     max_position_embeddings=64, bos_token_id=0, eos_token_id=0))
args = TrainingArguments(output_dir="melody_out", per_device_train_batch_size=32, num_train_epochs=5,
                         learning_rate=3e-3, lr_scheduler_type="cosine", warmup_steps=30,
                         logging_steps=50, save_strategy="no", report_to=[], use_cpu=True,
                         disable_tqdm=True, seed=6)
Trainer(model=model, args=args, train_dataset=train).train()

model.eval()
with torch.no_grad():
    x = test.data
    pred = model(input_ids=x[:, :-1]).logits.argmax(-1)[:, 1:]
acc = (pred == x[:, 2:]).float().mean().item()
best = np.mean([table[a, b].argmax() == c for s in x.numpy() for a, b, c in zip(s, s[1:], s[2:])])
print(f"next-note accuracy {acc:.4f} (best possible about {best:.4f})")
