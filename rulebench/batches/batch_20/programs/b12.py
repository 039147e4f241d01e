"""Fine-tune a tiny GPT-2 to answer with a sorted list and stop."""
import random
import torch
from torch.utils.data import Dataset
from transformers import (DataCollatorForLanguageModeling, GPT2Config, GPT2LMHeadModel,
                          PreTrainedTokenizerFast, Trainer, TrainingArguments, set_seed)
from tokenizers import Tokenizer, models, pre_tokenizers

set_seed(4)

WORDS = [str(i) for i in range(10)] + ["sort", ":", "->"]
vocab = {w: i for i, w in enumerate(["<unk>", "<|endoftext|>"] + WORDS)}
tok = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tok, unk_token="<unk>",
                                    eos_token="<|endoftext|>")
tokenizer.pad_token = tokenizer.eos_token
tokenizer.padding_side = "right"


def example(rng):
    xs = rng.sample(range(10), rng.randint(2, 5))
    prompt = "sort : " + " ".join(map(str, xs)) + " ->"
    answer = " ".join(map(str, sorted(xs)))
    return prompt, answer


class SortData(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            p, a = example(rng)
            self.rows.append(tokenizer(p + " " + a + " " + tokenizer.eos_token))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {k: self.rows[i][k] for k in ("input_ids", "attention_mask")}


config = GPT2Config(vocab_size=len(tokenizer), n_positions=48, n_embd=64, n_layer=2, n_head=4,
                    bos_token_id=tokenizer.eos_token_id, eos_token_id=tokenizer.eos_token_id,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = GPT2LMHeadModel(config)
collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
args = TrainingArguments(output_dir="/tmp/b12_out", per_device_train_batch_size=64,
                         max_steps=400, learning_rate=3e-3, warmup_steps=50,
                         lr_scheduler_type="cosine", logging_steps=100, save_strategy="no",
                         report_to=[], use_cpu=True, disable_tqdm=True)
trainer = Trainer(model=model, args=args, train_dataset=SortData(6000, 0),
                  data_collator=collator)
trainer.train()

model.eval()
rng = random.Random(99)
right = stopped = 0
for i in range(60):
    prompt, answer = example(rng)
    enc = tokenizer(prompt, return_tensors="pt")
    out = model.generate(input_ids=enc["input_ids"], attention_mask=enc["attention_mask"],
                         max_new_tokens=12, do_sample=False, pad_token_id=tokenizer.pad_token_id)
    new = out[0, enc["input_ids"].shape[1]:]
    reply = tokenizer.decode(new, skip_special_tokens=True).strip()
    right += reply == answer
    stopped += bool((new == tokenizer.eos_token_id).any())
    if i < 4:
        print(prompt, "|", reply)
print(f"exact answers {right}/60, finished by itself {stopped}/60")
