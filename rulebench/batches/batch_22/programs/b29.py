"""Preference tuning of a tiny GPT-2 with TRL's DPO trainer."""
import copy
import random

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, set_seed
from trl import DPOConfig, DPOTrainer

set_seed(8)
random.seed(8)
NOUNS = "tea soup bread rice fish cake".split()
GOOD = "lovely fresh warm tasty".split()
BAD = "awful stale cold bland".split()
words = ["<pad>", "<eos>", "<unk>", "how", "was", "the", "it", "really", "and", "?", "."] + NOUNS + GOOD + BAD
tk = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
tk.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tk, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")


def answer(noun, adjs):
    a, b = random.sample(adjs, 2)
    return f" the {noun} was {a} and {b} ."


def prompt(noun):
    return f"how was the {noun} ?"


# --- stage 1: language model that answers in either tone
model = GPT2LMHeadModel(GPT2Config(vocab_size=len(words), n_positions=32, n_embd=48, n_layer=2, n_head=4,
                                   bos_token_id=1, eos_token_id=1, pad_token_id=0,
                                   resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(350):
    texts = []
    for _ in range(32):
        n = random.choice(NOUNS)
        texts.append(prompt(n) + answer(n, random.choice([GOOD, BAD])) + " <eos>")
    enc = tokenizer(texts, return_tensors="pt", padding=True)
    labels = enc.input_ids.masked_fill(enc.attention_mask == 0, -100)
    loss = model(input_ids=enc.input_ids, attention_mask=enc.attention_mask, labels=labels).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print(f"lm step {step + 1} loss {loss.item():.4f}")


def positive_share(n=60):
    model.eval()
    enc = tokenizer([prompt(random.choice(NOUNS)) for _ in range(n)], return_tensors="pt")
    out = model.generate(input_ids=enc.input_ids, attention_mask=enc.attention_mask, max_new_tokens=8, do_sample=True)
    replies = tokenizer.batch_decode(out[:, enc.input_ids.size(1):], skip_special_tokens=True)
    good = sum(any(w in r.split() for w in GOOD) and not any(w in r.split() for w in BAD) for r in replies)
    return good / n, replies[:3]


print("before:", positive_share())

# --- stage 2: DPO on pairs
rows = []
for _ in range(640):
    n = random.choice(NOUNS)
    rows.append({"prompt": prompt(n), "chosen": answer(n, GOOD), "rejected": answer(n, BAD)})
args = DPOConfig(output_dir="/tmp/dpo_tiny", beta=0.3, loss_type=["sigmoid", "sft"], loss_weights=[1.0, 0.5],
                 learning_rate=3e-4, per_device_train_batch_size=16,
                 num_train_epochs=3, logging_steps=20, save_strategy="no", report_to=[], disable_tqdm=True,
                 use_cpu=True, bf16=False, gradient_checkpointing=False, max_length=32, seed=8)
trainer = DPOTrainer(model=model, ref_model=copy.deepcopy(model), args=args,
                     train_dataset=Dataset.from_list(rows), processing_class=tokenizer)
trainer.train()
print("after:", positive_share())
