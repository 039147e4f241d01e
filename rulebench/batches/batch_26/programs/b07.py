# Supervised finetuning style training: prompt "a+b=" , only the answer counts in the loss.
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, set_seed

SEED = 3
set_seed(SEED)
torch.set_num_threads(1)
gen = torch.Generator().manual_seed(SEED)

MOD, EQ, PLUS, EOS = 23, 23, 24, 25
VOCAB = 26
all_pairs = torch.cartesian_prod(torch.arange(MOD), torch.arange(MOD))
all_pairs = all_pairs[torch.randperm(len(all_pairs), generator=gen)]


def encode(a, b, noise_len):
    """distractor numbers , a + b = answer"""
    junk = torch.randint(0, MOD, (noise_len,), generator=gen).tolist()
    big = max(a, b)
    prompt = junk + [PLUS, a, PLUS, b, EQ]
    return prompt, [big, EOS]


class SFT(torch.utils.data.Dataset):
    def __init__(self, pairs, copies):
        self.rows = []
        for _ in range(copies):
            for a, b in pairs.tolist():
                p, ans = encode(a, b, 6)
                self.rows.append({"input_ids": p + ans, "labels": [-100] * len(p) + ans})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    return {k: torch.tensor([r[k] for r in rows]) for k in rows[0]}


train, test = SFT(all_pairs[:430], 6), SFT(all_pairs[430:], 1)
print("first row:", train[0])
config = LlamaConfig(vocab_size=VOCAB, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                     num_key_value_heads=2, max_position_embeddings=32, bos_token_id=None, eos_token_id=EOS, pad_token_id=None)
model = LlamaForCausalLM(config)
args = TrainingArguments(output_dir="out_sft", num_train_epochs=15, per_device_train_batch_size=64, learning_rate=3e-3,
                         lr_scheduler_type="cosine", warmup_steps=30, logging_steps=60, save_strategy="no", report_to=[],
                         use_cpu=True, disable_tqdm=True, seed=SEED, weight_decay=0.05)
trainer = Trainer(model=model, args=args, train_dataset=train, data_collator=collate)
trainer.train()

model.eval()
batch = collate(test.rows)
with torch.no_grad():
    logits = model(batch["input_ids"]).logits
pred = logits[:, -3].argmax(-1)
acc = (pred == batch["labels"][:, -2]).float().mean().item()
print(f"answers right on unseen pairs: {acc:.3f}")
