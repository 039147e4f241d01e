"""Train a tiny causal LM to answer capital-city style questions and to end its answers."""
import random
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (DataCollatorForLanguageModeling, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast,
                          Trainer, TrainingArguments, set_seed)

set_seed(8)
countries = [f"land{i}" for i in range(25)]
colours = ["red", "blue", "green", "white", "black"]
facts = {c: [random.choice(colours) for _ in range(random.randint(1, 4))] for c in countries}
words = ["<unk>", "<eos>", "<pad>", "flag", "of", "?", "has"] + countries + colours
tk = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
tk.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tk, unk_token="<unk>", eos_token="<eos>")
tokenizer.pad_token = tokenizer.eos_token


def render(country):
    return f"flag of {country} ? has {' '.join(facts[country])} {tokenizer.eos_token}"


texts = [render(random.choice(countries)) for _ in range(2000)]
train_set = [{"input_ids": tokenizer(t)["input_ids"]} for t in texts]
collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)

model = GPT2LMHeadModel(GPT2Config(
    vocab_size=len(words), n_positions=32, n_embd=48, n_layer=2, n_head=4,
    bos_token_id=tokenizer.eos_token_id, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
))
trainer = Trainer(
    model=model,
    args=TrainingArguments(
        output_dir="/tmp/flags_lm", num_train_epochs=5, per_device_train_batch_size=32, learning_rate=3e-3,
        warmup_steps=20, logging_steps=50, save_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True,
    ),
    train_dataset=train_set,
    data_collator=collator,
)
trainer.train()

model.eval()
exact, lengths = 0, []
for c in countries:
    enc = tokenizer(f"flag of {c} ? has", return_tensors="pt")
    with torch.no_grad():
        out = model.generate(input_ids=enc["input_ids"], attention_mask=enc["attention_mask"], max_new_tokens=12,
                             do_sample=False)
    answer = tokenizer.decode(out[0, enc["input_ids"].size(1):], skip_special_tokens=True).split()
    exact += answer == facts[c]
    lengths.append(len(answer))
    if c in countries[:4]:
        print(c, "expected", facts[c], "got", answer)
print(f"exact answers {exact}/{len(countries)}, mean answer length {sum(lengths) / len(lengths):.2f}")
