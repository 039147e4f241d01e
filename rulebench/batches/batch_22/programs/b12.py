"""Supervised fine-tuning of a tiny Llama on prompt/answer pairs (list reversal and sorting)."""
import random
from dataclasses import dataclass

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, TrainerCallback, set_seed

set_seed(10)
PAD, BOS, EOS, SEP, REV, SRT, OFFSET = 0, 1, 2, 3, 4, 5, 6
N_SYM = 12


def example(rnd):
    n = rnd.randint(3, 5)
    seq = [rnd.randrange(N_SYM) for _ in range(n)]
    op = rnd.choice([REV, SRT])
    ans = seq[::-1] if op == REV else sorted(seq)
    prompt = [BOS, op] + [OFFSET + s for s in seq] + [SEP]
    return prompt, [OFFSET + s for s in ans] + [EOS]


class Pairs(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rnd = random.Random(seed)
        self.rows = [example(rnd) for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        prompt, answer = self.rows[i]
        return {"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer}


@dataclass
class Collator:
    def __call__(self, rows):
        width = max(len(r["input_ids"]) for r in rows)

        def pad(key, value):
            return torch.tensor([r[key] + [value] * (width - len(r[key])) for r in rows])

        ids = pad("input_ids", PAD)
        return {"input_ids": ids, "labels": pad("labels", -100), "attention_mask": (ids != PAD).long()}


model = LlamaForCausalLM(LlamaConfig(
    vocab_size=OFFSET + N_SYM, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=4, max_position_embeddings=32, pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS))
test = Pairs(100, seed=2)


def exact_match():
    model.eval()
    ok = 0
    for prompt, answer in test.rows:
        ids = torch.tensor([prompt])
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=7, do_sample=False)
        ok += out[0, len(prompt):].tolist() == answer
    return ok / len(test.rows)


args = TrainingArguments(output_dir="/tmp/sft_tiny", per_device_train_batch_size=32, gradient_accumulation_steps=2,
                         num_train_epochs=6, learning_rate=4e-3, lr_scheduler_type="cosine", warmup_steps=20,
                         logging_steps=30, eval_strategy="epoch", save_strategy="no", report_to=[],
                         disable_tqdm=True, use_cpu=True, seed=10)
trainer = Trainer(model=model, args=args, train_dataset=Pairs(2500, seed=1), eval_dataset=test,
                  data_collator=Collator())
trainer.train()
print("exact match on new prompts:", exact_match())
