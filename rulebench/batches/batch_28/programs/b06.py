# tiny GPT-2 on a synthetic language, with the HF Trainer
import numpy as np, torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

set_seed(7)
V, T = 24, 32
rng = np.random.default_rng(7)
# order-1 grammar: each symbol has one favoured successor (85 %), else uniform
succ = rng.permutation(V)


def sentence():
    s = [int(rng.integers(V))]
    while len(s) < T + 1:
        s.append(int(succ[s[-1]]) if rng.random() < 0.85 else int(rng.integers(V)))
    return s


class LMDataset(Dataset):
    def __init__(self, n):
        self.rows = np.array([sentence() for _ in range(n)])

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = torch.tensor(self.rows[i])
        # inputs are tokens 0..T-1, targets are the next tokens 1..T
        return {"input_ids": row[:-1], "labels": row[1:]}


train, test = LMDataset(2000), LMDataset(300)
model = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=T, n_embd=48, n_layer=2, n_head=4,
                                   bos_token_id=0, eos_token_id=0))
args = TrainingArguments(output_dir="tmp_lm", per_device_train_batch_size=32, num_train_epochs=6,
                         learning_rate=2e-3, lr_scheduler_type="cosine", warmup_steps=20,
                         logging_steps=50, report_to=[], save_strategy="no", use_cpu=True,
                         disable_tqdm=True, seed=7)
trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=test)
trainer.train()
print("eval", trainer.evaluate())

model.eval()
rows = torch.tensor(test.rows)
with torch.no_grad():
    pred = model(rows[:, :-1]).logits.argmax(-1)
print("next-token accuracy on held-out sentences: %.3f" % (pred == rows[:, 1:]).float().mean())
out = model.generate(rows[:3, :4], max_new_tokens=10, do_sample=False, pad_token_id=0)
print(out.tolist())
