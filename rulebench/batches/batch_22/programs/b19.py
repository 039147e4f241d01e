import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

set_seed(3)

VOCAB = 28
SEQ = 32


def lcg_stream(n, seed):
    """token stream: blocks of a counting pattern, step size drawn per block, with some noise"""
    g = torch.Generator().manual_seed(seed)
    out = []
    while len(out) < n:
        start = int(torch.randint(0, VOCAB, (1,), generator=g))
        step = int(torch.randint(1, 6, (1,), generator=g))
        for k in range(16):
            tok = (start + k * step) % VOCAB
            if torch.rand(1, generator=g) < 0.03:
                tok = int(torch.randint(0, VOCAB, (1,), generator=g))
            out.append(tok)
    return torch.tensor(out[:n])


class BlockDataset(Dataset):
    def __init__(self, stream, block):
        self.stream = stream
        self.block = block

    def __len__(self):
        return (len(self.stream) - 1) // self.block

    def __getitem__(self, i):
        chunk = self.stream[i * self.block: i * self.block + self.block + 1]
        return {"input_ids": chunk[:-1], "labels": chunk[1:]}


train_ds = BlockDataset(lcg_stream(40000, 1), SEQ)
eval_ds = BlockDataset(lcg_stream(6000, 2), SEQ)

config = GPT2Config(vocab_size=VOCAB, n_positions=SEQ, n_embd=64, n_layer=2, n_head=4,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
print("parameters:", model.num_parameters())

args = TrainingArguments(
    output_dir="/tmp/gpt2-count",
    num_train_epochs=8,
    per_device_train_batch_size=32,
    per_device_eval_batch_size=64,
    learning_rate=3e-3,
    lr_scheduler_type="cosine",
    warmup_steps=30,
    logging_steps=40,
    eval_strategy="epoch",
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
    use_cpu=True,
    seed=3,
)
trainer = Trainer(model=model, args=args, train_dataset=train_ds, eval_dataset=eval_ds)
trainer.train()
print("eval loss:", trainer.evaluate()["eval_loss"])

# continue some counting sequences
model.eval()
hits = total = 0
for start in range(0, VOCAB, 2):
    for step in range(1, 6):
        seq = [(start + k * step) % VOCAB for k in range(12)]
        ids = torch.tensor([seq[:6]])
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=6, do_sample=False, eos_token_id=None, pad_token_id=0)
        hits += (out[0, 6:12] == torch.tensor(seq[6:])).sum().item()
        total += 6
    if start % 8 == 0:
        print(start, out[0].tolist())
print(f"continuation accuracy {hits / total:.3f}")
