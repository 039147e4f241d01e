# GPT-2 (tiny, from scratch) on sorted-number sequences; greedy decoding at the end
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

set_seed(31)
N_NUM, N_IN = 20, 5
SEP, EOS = N_NUM, N_NUM + 1
VOCAB = N_NUM + 2


def example(g):
    nums = torch.randperm(N_NUM, generator=g)[:N_IN]
    return torch.cat([nums, torch.tensor([SEP]), nums.sort().values, torch.tensor([EOS])])


class SortData(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.seqs = [example(g) for _ in range(n)]

    def __len__(self):
        return len(self.seqs)

    def __getitem__(self, i):
        s = self.seqs[i]
        labels = s[1:].clone()
        labels[:N_IN] = -100           # score the answer only
        return {"input_ids": s[:-1], "labels": labels}


train_set, test_set = SortData(8000, 1), SortData(100, 2)
config = GPT2Config(vocab_size=VOCAB, n_positions=32, n_embd=64, n_layer=2, n_head=4,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=SEP, eos_token_id=EOS)
model = GPT2LMHeadModel(config)

args = TrainingArguments(
    output_dir="/tmp/sort_gpt",
    max_steps=350,
    per_device_train_batch_size=64,
    learning_rate=3e-3,
    lr_scheduler_type="cosine",
    warmup_steps=30,
    weight_decay=0.01,
    logging_steps=50,
    save_strategy="no",
    report_to="none",
    disable_tqdm=True,
    use_cpu=True,
    seed=31,
)
trainer = Trainer(model=model, args=args, train_dataset=train_set)
trainer.train()

model.eval()
seqs = torch.stack(test_set.seqs)
prompt = seqs[:, :N_IN + 1]
with torch.no_grad():
    out = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=N_IN, min_new_tokens=N_IN,
                         do_sample=False, pad_token_id=EOS)
answers = out[:, N_IN + 1:]
truth = seqs[:, N_IN + 1:2 * N_IN + 1]
print("first test prompt", prompt[0].tolist(), "->", answers[0].tolist())
print("token accuracy", (answers == truth).float().mean().item())
print("exact match", (answers == truth).all(1).float().mean().item())
