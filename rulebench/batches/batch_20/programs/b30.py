"""Supervised fine-tuning of a tiny GPT-2 on prompt / completion pairs with TRL."""
import random
import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, set_seed
from trl import SFTConfig, SFTTrainer

set_seed(19)
rng = random.Random(19)

COLOURS = ["red", "blue", "green", "black", "white"]
THINGS = ["car", "house", "bird", "ship", "tree", "hat"]
PEOPLE = ["ann", "bob", "cleo", "dan"]
special = ["<pad>", "<eos>", "<unk>"]
words = special + COLOURS + THINGS + PEOPLE + ["what", "does", "have", "has", "a", "and", "?", ".", "colour", "is", "the", "of"]
tok = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tok, pad_token="<pad>", eos_token="<eos>",
                                    unk_token="<unk>")


def sample():
    p, c, t = rng.choice(PEOPLE), rng.choice(COLOURS), rng.choice(THINGS)
    story = f"{p} has a {c} {t} ."
    return {"prompt": f"{story} what does {p} have ?", "completion": f" a {c} {t} ."}


train = Dataset.from_list([sample() for _ in range(2400)])
held_out = [sample() for _ in range(60)]

model = GPT2LMHeadModel(GPT2Config(vocab_size=len(words), n_positions=64, n_embd=64, n_layer=2, n_head=4,
                                   bos_token_id=1, eos_token_id=1, pad_token_id=0,
                                   resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))
config = SFTConfig(
    output_dir="/tmp/b30_out",
    max_steps=200,
    per_device_train_batch_size=16,
    gradient_accumulation_steps=2,
    learning_rate=3e-3,
    lr_scheduler_type="cosine",
    warmup_steps=20,
    completion_only_loss=True,
    max_length=32,
    logging_steps=20,
    save_strategy="no",
    report_to=[],
    use_cpu=True,
    bf16=False,
    gradient_checkpointing=False,
    disable_tqdm=True,
    seed=19,
)
trainer = SFTTrainer(model=model, args=config, train_dataset=train, processing_class=tokenizer)
trainer.train()

model.eval()
hits = 0
for row in held_out:
    enc = tokenizer(row["prompt"], return_tensors="pt")
    out = model.generate(input_ids=enc["input_ids"], attention_mask=enc["attention_mask"],
                         max_new_tokens=8, do_sample=False)
    answer = tokenizer.decode(out[0, enc["input_ids"].shape[1]:], skip_special_tokens=True).strip()
    hits += answer == row["completion"].strip()
print(f"exact answers on new stories: {hits}/{len(held_out)}")
