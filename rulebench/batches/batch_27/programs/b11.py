"""Tiny GPT-2 from scratch on a toy language, with the Hugging Face Trainer."""
import random

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

set_seed(33)

NOUNS_S = ["dog", "cat", "bird", "child"]
NOUNS_P = ["dogs", "cats", "birds", "children"]
VERB_S = ["sees", "hears", "likes"]
VERB_P = ["see", "hear", "like"]
WORDS = ["<eos>", "the", "a", "some", "near", "and", "."] + NOUNS_S + NOUNS_P + VERB_S + VERB_P
ID = {w: i for i, w in enumerate(WORDS)}


def noun_phrase(r):
    plural = r.random() < 0.5
    det = r.choice(["the", "some"]) if plural else r.choice(["the", "a"])
    return [det, r.choice(NOUNS_P if plural else NOUNS_S)], plural


def sentence(r):
    np_, plural = noun_phrase(r)
    words = list(np_)
    if r.random() < 0.3:
        words += ["near"] + noun_phrase(r)[0]
    words += [r.choice(VERB_P if plural else VERB_S)] + noun_phrase(r)[0] + ["."]
    return words


def corpus(n_tokens, seed, block=34):
    r = random.Random(seed)
    stream = []
    while len(stream) < n_tokens:
        stream += [ID[w] for w in sentence(r)]
    n = len(stream) // block
    return np.array(stream[:n * block]).reshape(n, block)


class Blocks(torch.utils.data.Dataset):
    def __init__(self, arr):
        self.arr = torch.tensor(arr)

    def __len__(self):
        return len(self.arr)

    def __getitem__(self, i):
        row = self.arr[i]
        # predict the next word: targets are the inputs moved by one
        return {"input_ids": row[:-1], "labels": row[1:]}


train_ds, eval_ds = Blocks(corpus(60000, 1)), Blocks(corpus(8000, 2))
config = GPT2Config(vocab_size=len(WORDS), n_positions=64, n_embd=48, n_layer=2, n_head=4,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
args = TrainingArguments(output_dir="out_toy_gpt2", per_device_train_batch_size=32, num_train_epochs=10,
                         learning_rate=2e-3, lr_scheduler_type="cosine", warmup_steps=40, logging_steps=60,
                         eval_strategy="epoch", save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True)
trainer = Trainer(model=model, args=args, train_dataset=train_ds, eval_dataset=eval_ds)
trainer.train()

model.eval()
good = total = 0
with torch.no_grad():
    prompt = torch.tensor([[ID["."]]]).repeat(100, 1)
    out = model.generate(prompt, max_new_tokens=12, do_sample=True, top_k=0, pad_token_id=0,
                         attention_mask=torch.ones_like(prompt))
    rows = eval_ds.arr
    probs = model(rows[:, :-1]).logits.log_softmax(-1)
    nll = -probs.gather(-1, rows[:, 1:, None]).mean().item()
print("sample:", " ".join(WORDS[i] for i in out[0].tolist()))
print("sample:", " ".join(WORDS[i] for i in out[1].tolist()))
for seq in out.tolist():
    for a, b in zip(seq, seq[1:]):
        if WORDS[a] in ("the", "a", "some"):
            total += 1
            good += WORDS[b] in NOUNS_S + NOUNS_P
print(f"determiners followed by a noun in samples: {good}/{total}")
print(f"held-out perplexity per word: {np.exp(nll):.3f}")
