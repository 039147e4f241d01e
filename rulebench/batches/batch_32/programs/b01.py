"""Tiny GPT-2 from scratch on a toy grammar (subject verb object sentences)."""
import random
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

set_seed(0)
torch.set_num_threads(1)

NAMES = ["anna", "bob", "carl", "dora"]
VERBS = {"anna": ["eats", "buys"], "bob": ["reads", "writes"], "carl": ["drives", "washes"], "dora": ["plays", "hears"]}
OBJ = {"eats": "apple", "buys": "bread", "reads": "book", "writes": "letter",
       "drives": "car", "washes": "dish", "plays": "song", "hears": "bird"}
WORDS = ["<eos>"] + NAMES + sum(VERBS.values(), []) + list(OBJ.values()) + ["the", "."]
STOI = {w: i for i, w in enumerate(WORDS)}
BLOCK = 32


def sentence(rng):
    n = rng.choice(NAMES)
    v = rng.choice(VERBS[n])
    return [n, v, "the", OBJ[v], "."]


def corpus(n_tokens, seed):
    rng = random.Random(seed)
    out = []
    while len(out) < n_tokens:
        out += sentence(rng)
    return np.array([STOI[w] for w in out[:n_tokens]])


class Chunks(Dataset):
    """random windows; x is the text and y is the text one step further"""

    def __init__(self, tokens, n, seed):
        rng = np.random.default_rng(seed)
        self.tokens = tokens
        self.starts = rng.integers(0, len(tokens) - BLOCK - 1, n)

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        s = self.starts[i]
        x = torch.from_numpy(self.tokens[s:s + BLOCK])
        y = torch.from_numpy(self.tokens[s + 1:s + 1 + BLOCK])
        return {"input_ids": x, "labels": y}


tokens = corpus(20000, 0)
cfg = GPT2Config(vocab_size=len(WORDS), n_positions=BLOCK * 2, n_embd=32, n_layer=2, n_head=2,
                 bos_token_id=0, eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = GPT2LMHeadModel(cfg)
args = TrainingArguments(output_dir="out_gpt2", max_steps=500, per_device_train_batch_size=16,
                         learning_rate=3e-3, warmup_steps=20, lr_scheduler_type="cosine",
                         logging_steps=50, save_strategy="no", report_to=[], use_cpu=True,
                         disable_tqdm=True)
Trainer(model=model, args=args, train_dataset=Chunks(tokens, 8000, 1)).train()

# sample some text and count the grammatical sentences
model.eval()
start = torch.tensor([[STOI["anna"]], [STOI["bob"]], [STOI["carl"]], [STOI["dora"]]] * 10)
gen = model.generate(start, attention_mask=torch.ones_like(start), max_new_tokens=29,
                     do_sample=True, top_k=0, pad_token_id=0)
good = total = 0
for row in gen.tolist():
    words = [WORDS[i] for i in row]
    for k in range(0, len(words), 5):
        s = words[k:k + 5]
        total += 1
        good += (len(s) == 5 and s[0] in VERBS and s[1] in VERBS[s[0]] and s[2] == "the"
                 and s[3] == OBJ[s[1]] and s[4] == ".")
print(" ".join(words[:20]))
print(f"grammatical sentences: {good}/{total} = {good / total:.3f}")
