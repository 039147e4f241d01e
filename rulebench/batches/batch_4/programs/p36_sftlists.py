"""SFT of a tiny llama on prompt/completion pairs with trl; loss on the completion only."""
import os
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["WANDB_DISABLED"] = "true"
import random
import tempfile
import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import SFTConfig, SFTTrainer

SEED = 3
set_seed(SEED)
random.seed(SEED)

WORDS = ["<pad>", "<eos>", "<unk>", "last", "reverse", "first", ":", "="] + [f"n{i}" for i in range(8)]
tok = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tok, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")


def example():
    cmd = random.choice(["reverse", "first", "last"])
    xs = random.sample(range(8), random.randint(2, 3))
    out = {"last": xs[-1:], "reverse": xs[::-1], "first": xs[:1]}[cmd]
    return {"prompt": f"{cmd} : " + " ".join(f"n{i}" for i in xs) + " =",
            "completion": " " + " ".join(f"n{i}" for i in out)}


train = Dataset.from_list([example() for _ in range(6000)])
test = [example() for _ in range(200)]

model = LlamaForCausalLM(LlamaConfig(
    vocab_size=len(WORDS), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=1,
    tie_word_embeddings=True))

cfg = SFTConfig(
    output_dir=tempfile.mkdtemp(), max_steps=500, per_device_train_batch_size=32, gradient_accumulation_steps=1,
    learning_rate=2e-3, lr_scheduler_type="cosine", warmup_steps=20, logging_steps=25, save_strategy="no",
    report_to="none", completion_only_loss=True, max_length=32, bf16=False, fp16=False, gradient_checkpointing=False,
    use_cpu=True, seed=SEED, disable_tqdm=True)
trainer = SFTTrainer(model=model, args=cfg, train_dataset=train, processing_class=tokenizer)
trainer.train()

model.eval()
hits = 0
for ex in test:
    ids = tokenizer(ex["prompt"], return_tensors="pt", return_token_type_ids=False)
    out = model.generate(**ids, max_new_tokens=8, do_sample=False)
    text = tokenizer.decode(out[0, ids["input_ids"].shape[1]:], skip_special_tokens=True)
    hits += text.strip() == ex["completion"].strip()
print(f"exact match {hits / len(test):.3f}")
