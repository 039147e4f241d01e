"""Supervised finetuning format in small: prompt + answer in one sequence, only the answer counts in the loss.

prompt   = <bos> 9 letters <sep>          answer = the last three letters reversed, then <eos>
"""
import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, set_seed

SEED = 1
BOS, EOS, SEP = 0, 1, 2
LETTERS = 12
set_seed(SEED)


class Pairs(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.letters = torch.randint(3, 3 + LETTERS, (n, 9), generator=g)

    def __len__(self):
        return len(self.letters)

    def __getitem__(self, i):
        body = self.letters[i]
        prompt = torch.cat([torch.tensor([BOS]), body, torch.tensor([SEP])])
        answer = torch.cat([body[-3:].flip(0), torch.tensor([EOS])])
        ids = torch.cat([prompt, answer])
        labels = ids.clone()
        labels[:len(prompt)] = -100
        return {"input_ids": ids, "labels": labels}


cfg = LlamaConfig(vocab_size=3 + LETTERS, hidden_size=48, intermediate_size=96, num_hidden_layers=2,
                  num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=32,
                  bos_token_id=BOS, eos_token_id=EOS, pad_token_id=EOS)
model = LlamaForCausalLM(cfg)
trainer = Trainer(
    model=model,
    args=TrainingArguments(output_dir="out_sft", per_device_train_batch_size=64, max_steps=800, learning_rate=3e-3,
                           warmup_steps=50, lr_scheduler_type="cosine", logging_steps=80, save_strategy="no",
                           report_to=[], disable_tqdm=True, use_cpu=True, seed=SEED),
    train_dataset=Pairs(20000, 100 + SEED),
)
trainer.train()

test = Pairs(400, 999)
model.eval()
prompts = torch.stack([test[i]["input_ids"][:11] for i in range(len(test))])
gold = torch.stack([test[i]["input_ids"][11:] for i in range(len(test))])
with torch.no_grad():
    out = model.generate(prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=4, do_sample=False)
out = torch.nn.functional.pad(out[:, 11:], (0, max(0, 15 - out.shape[1])), value=EOS)
print("exact match on new prompts: %.3f" % (out == gold).all(1).float().mean().item())
