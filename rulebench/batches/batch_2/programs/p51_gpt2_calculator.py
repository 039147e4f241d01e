"""Tiny GPT-2 with Trainer: '7 + 5 = 1 2' - loss on the answer only."""
import os
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import logging, random, warnings
warnings.filterwarnings("ignore")
logging.getLogger("transformers").setLevel(logging.ERROR)
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

set_seed(25)
TOK = {c: i for i, c in enumerate(["<pad>", "<eos>", "+", "=", *"0123456789"])}
MAXLEN = 9


def example(a, b):
    q = [TOK[str(a)], TOK["+"], TOK[str(b)], TOK["="]]
    ans = [TOK[c] for c in str(a + b)] + [TOK["<eos>"]]
    ids = q + ans
    lab = [-100] * len(q) + ans
    pad = MAXLEN - len(ids)
    return {"input_ids": torch.tensor(ids + [0] * pad), "attention_mask": torch.tensor([1] * len(ids) + [0] * pad),
            "labels": torch.tensor(lab + [-100] * pad)}


table = [(a, b) for a in range(10) for b in range(10)]
random.shuffle(table)
train = [example(*p) for p in table] * 16      # the whole table on purpose: this is memorisation
cfg = GPT2Config(vocab_size=len(TOK), n_positions=MAXLEN, n_embd=48, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=1,
                 pad_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = GPT2LMHeadModel(cfg)
args = TrainingArguments(output_dir="/tmp/calc", num_train_epochs=10, per_device_train_batch_size=40, learning_rate=4e-3,
                         lr_scheduler_type="cosine", warmup_steps=20, weight_decay=0.01, logging_steps=50,
                         save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True, seed=25)
Trainer(model=model, args=args, train_dataset=train).train()
model.eval()
ok = 0
with torch.no_grad():
    for a, b in table:
        seq = [TOK[str(a)], TOK["+"], TOK[str(b)], TOK["="]]
        want = example(a, b)["input_ids"].tolist()
        while len(seq) < 7 and seq[-1] != 1:
            seq.append(model(input_ids=torch.tensor([seq])).logits[0, -1].argmax().item())
        ok += seq == want[:len(seq)]
print("right:", ok, "of 100")
