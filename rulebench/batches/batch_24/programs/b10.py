"""Supervised fine-tuning with trl's SFTTrainer: prompt/completion pairs, loss on the completion."""
import random
import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import SFTConfig, SFTTrainer

set_seed(66)
symbols = list("abcdefghij")
words = ["<pad>", "<bos>", "<eos>", "<unk>", "rev", "dup", ":", ">"] + symbols
tk = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
tk.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tk, unk_token="<unk>", bos_token="<bos>", eos_token="<eos>", pad_token="<pad>")


def make():
    s = random.choices(symbols, k=random.randint(2, 4))
    task = random.choice(["rev", "dup"])
    ans = s[::-1] if task == "rev" else [c for c in s for _ in range(2)]
    return {"prompt": f"{task} : {' '.join(s)} >", "completion": " " + " ".join(ans)}


train = Dataset.from_list([make() for _ in range(6000)])
test = [make() for _ in range(60)]

model = LlamaForCausalLM(LlamaConfig(
    vocab_size=len(words), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=4, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0))

cfg = SFTConfig(
    output_dir="/tmp/sft_rev", max_steps=350, per_device_train_batch_size=32, learning_rate=4e-3, warmup_steps=20,
    lr_scheduler_type="cosine", completion_only_loss=True, max_length=32, logging_steps=50, save_strategy="no",
    report_to="none", disable_tqdm=True, use_cpu=True, bf16=False, gradient_checkpointing=False, seed=66,
)
trainer = SFTTrainer(model=model, args=cfg, train_dataset=train, processing_class=tokenizer)
trainer.train()

model.eval()
good = 0
for row in test:
    ids = tokenizer(row["prompt"], return_tensors="pt")["input_ids"]
    with torch.no_grad():
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=10, do_sample=False, pad_token_id=0)
    text = tokenizer.decode(out[0, ids.size(1):], skip_special_tokens=True)
    good += text.split() == row["completion"].split()
print("example:", row["prompt"], "->", text)
print(f"exact {good}/{len(test)}")
