# Pretraining a mini llama on Fibonacci-like sequences mod 29 with the HF Trainer
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, set_seed

SEED = 24
set_seed(SEED)
torch.set_num_threads(1)
P, BLOCK = 29, 16


def stream(n, seed):
    """one row = BLOCK + 1 tokens, x[t+1] = (x[t] + x[t-1]) mod P"""
    r = np.random.default_rng(seed)
    rows = np.zeros((n, BLOCK + 1), dtype=np.int64)
    rows[:, 0], rows[:, 1] = r.integers(0, P, n), r.integers(0, P, n)
    for t in range(2, BLOCK + 1):
        rows[:, t] = (rows[:, t - 1] + rows[:, t - 2]) % P
    return rows


class Blocks(Dataset):
    def __init__(self, rows):
        self.rows = torch.tensor(rows)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        chunk = self.rows[i]
        return {"input_ids": chunk[:-1], "labels": chunk[1:]}


test = stream(300, 2)
train = Blocks(stream(12800, 1))
model = LlamaForCausalLM(LlamaConfig(vocab_size=P, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                     num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=32,
                                     bos_token_id=None, eos_token_id=None, pad_token_id=None))
args = TrainingArguments(output_dir="hf_tmp", per_device_train_batch_size=64, num_train_epochs=6,
                         learning_rate=2e-3, lr_scheduler_type="cosine", warmup_steps=60, logging_steps=120,
                         save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True, seed=SEED)
Trainer(model=model, args=args, train_dataset=train).train()

model.eval()
x = torch.tensor(test)
with torch.no_grad():
    logits = model(input_ids=x[:, :-1]).logits
nxt = logits.argmax(-1)
print("next-token accuracy on new sequences: %.4f" % (nxt[:, 2:] == x[:, 3:]).float().mean().item())
