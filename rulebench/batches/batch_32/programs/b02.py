import random
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

# Instruction-style fine-tuning in miniature: "d3 d1 d2 SORT" -> "d1 d2 d3".  Only the answer
# is supervised, the prompt positions have label -100 (the prompt is random, nothing to learn there).
SEED = 0
set_seed(SEED)
torch.set_num_threads(1)
MAXVAL, SEP, EOS, PAD = 10, 10, 11, 12
TOTAL = 14


class SortData(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.items = [[rng.randrange(MAXVAL) for _ in range(rng.randint(3, 6))] for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, k):
        nums = self.items[k]
        prompt, answer = nums + [SEP], sorted(nums) + [EOS]
        ids = prompt + answer
        labels = [-100] * len(prompt) + answer
        pad = TOTAL - len(ids)
        return {"input_ids": torch.tensor(ids + [PAD] * pad),
                "attention_mask": torch.tensor([1] * len(ids) + [0] * pad),
                "labels": torch.tensor(labels + [-100] * pad)}


config = GPT2Config(vocab_size=13, n_positions=TOTAL, n_embd=48, n_layer=2, n_head=4, bos_token_id=EOS,
                    eos_token_id=EOS, pad_token_id=PAD, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = GPT2LMHeadModel(config)
args = TrainingArguments(output_dir="sort_out", max_steps=900, per_device_train_batch_size=32,
                         learning_rate=3e-3, lr_scheduler_type="linear", warmup_steps=50,
                         weight_decay=0.01, logging_steps=100, save_strategy="no", report_to=[],
                         use_cpu=True, disable_tqdm=True, seed=SEED)
train_set = SortData(20000, SEED)
Trainer(model=model, args=args, train_dataset=train_set).train()

model.eval()
seen = {tuple(x) for x in train_set.items}
test = [x for x in SortData(600, SEED + 1).items if tuple(x) not in seen]
exact = 0
for nums in test[:150]:
    ids = torch.tensor([nums + [SEP]])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=len(nums) + 1,
                         do_sample=False, pad_token_id=PAD)[0, len(nums) + 1:].tolist()
    exact += out[:len(nums)] == sorted(nums)
print(f"exact match on unseen prompts: {exact}/{len(test[:150])}")
