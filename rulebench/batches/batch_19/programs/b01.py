"""Train a small GPT-2 from scratch on arithmetic lines with the Trainer."""
import random
import tempfile
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

set_seed(13)
random.seed(13)

CHARS = "0123456789+=;^ "
stoi = {c: i for i, c in enumerate(CHARS)}
itos = dict(enumerate(CHARS))
BOS, EOS, SPACE = stoi["^"], stoi[";"], stoi[" "]
MAX_LEN = 14


def sample_line():
    a, b = random.randint(0, 19), random.randint(0, 9)
    return f"^{a}+{b}={a + b};"


def encode(line):
    return [stoi[c] for c in line]


class SumDataset(Dataset):
    def __init__(self, n):
        self.rows = []
        for _ in range(n):
            ids = encode(sample_line() + sample_line()[1:])[:MAX_LEN + 1]
            ids = ids + [SPACE] * (MAX_LEN + 1 - len(ids))
            ids = torch.tensor(ids)
            self.rows.append({"input_ids": ids[:-1], "labels": ids[1:]})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


config = GPT2Config(vocab_size=len(CHARS), n_positions=32, n_embd=64, n_layer=2, n_head=4,
                    bos_token_id=BOS, eos_token_id=EOS, pad_token_id=SPACE,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = GPT2LMHeadModel(config)
train_set, eval_set = SumDataset(4000), SumDataset(200)

with tempfile.TemporaryDirectory() as out:
    args = TrainingArguments(
        output_dir=out, num_train_epochs=6, per_device_train_batch_size=64,
        per_device_eval_batch_size=100, learning_rate=3e-3, lr_scheduler_type="cosine",
        warmup_steps=40, logging_steps=40, eval_strategy="epoch", save_strategy="no",
        report_to="none", disable_tqdm=True, use_cpu=True, seed=13)
    trainer = Trainer(model=model, args=args, train_dataset=train_set, eval_dataset=eval_set)
    trainer.train()

model.eval()
correct = 0
trials = 100
for k in range(trials):
    a, b = random.randint(0, 19), random.randint(0, 9)
    prompt = torch.tensor([encode(f"^{a}+{b}=")])
    with torch.no_grad():
        out = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=3,
                             do_sample=False)
    answer = "".join(itos[int(t)] for t in out[0, prompt.shape[1]:])
    if k < 4:
        print(f"{a}+{b} -> {answer!r}")
    correct += answer.split(";")[0] == str(a + b)
print("exact answers:", correct, "of", trials)
