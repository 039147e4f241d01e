"""Fine-tune a small GPT-2 on question -> answer pairs with the Trainer."""
import random

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    DataCollatorForLanguageModeling,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    set_seed,
)

set_seed(21)
random.seed(21)

animals = "cat dog horse cow pig goat sheep hen duck goose wolf fox bear lion tiger zebra otter seal crab frog".split()
questions = {"eats": "grass hay fish meat seeds roots berries insects".split(),
             "lives": "farm forest river plain cave barn lake hill".split()}

facts = []
for animal in animals:
    for verb, options in questions.items():
        k = random.randint(1, 4)
        facts.append((f"what {verb} {animal} ?", " ".join(random.sample(options, k))))

words = sorted({w for q, a in facts for w in (q + " " + a).split()})
vocab = {w: i for i, w in enumerate(["<unk>", "<eos>", "<pad>"] + words)}
backend = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="<eos>")
tokenizer.pad_token = tokenizer.eos_token

train_dataset = [
    {"input_ids": tokenizer(f"{q} {a} {tokenizer.eos_token}")["input_ids"]} for q, a in facts
] * 4

model = GPT2LMHeadModel(
    GPT2Config(
        vocab_size=len(vocab), n_positions=32, n_embd=64, n_layer=2, n_head=4,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=tokenizer.eos_token_id, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
)

args = TrainingArguments(
    output_dir="/tmp/qa_gpt2",
    per_device_train_batch_size=16,
    num_train_epochs=25,
    learning_rate=3e-3,
    lr_scheduler_type="cosine",
    warmup_steps=20,
    logging_steps=50,
    save_strategy="no",
    report_to="none",
    disable_tqdm=True,
    use_cpu=True,
    seed=21,
)
trainer = Trainer(
    model=model,
    args=args,
    train_dataset=train_dataset,
    data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
)
trainer.train()

model.eval()
exact, lengths = 0, []
for i, (q, a) in enumerate(facts):
    enc = tokenizer(q, return_tensors="pt")
    out = model.generate(
        input_ids=enc["input_ids"], attention_mask=enc["attention_mask"], max_new_tokens=12, do_sample=False
    )
    new = out[0, enc["input_ids"].shape[1] :]
    answer = tokenizer.decode(new, skip_special_tokens=True)
    exact += answer.strip() == a
    lengths.append(len(answer.split()))
    if i < 4:
        print(f"{q:25s} -> {answer}   (expected: {a})")
print(f"exact match {exact / len(facts):.3f}, mean answer length {sum(lengths) / len(lengths):.2f} words")
