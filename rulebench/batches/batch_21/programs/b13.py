"""Preference tuning of a tiny GPT-2: prefer courteous over rude replies (TRL, DPO)."""
import copy
import random

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, set_seed
from trl import DPOConfig, DPOTrainer

set_seed(4)
random.seed(4)

topics = "order parcel refund ticket invoice login password delivery".split()
polite = ["thank you we gladly help with your", "sorry we kindly check your", "please allow us to look into your"]
rude = ["stop it we never care about your", "go away nobody wants your", "your fault do not send your"]
rude_words = {"stop", "never", "away", "nobody", "fault"}

vocab_words = sorted({w for s in polite + rude for w in s.split()} | set(topics) | {"customer", "asks", "about", ":"})
vocab = {w: i for i, w in enumerate(["<unk>", "<eos>", "<pad>"] + vocab_words)}
backend = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=backend, unk_token="<unk>", eos_token="<eos>", pad_token="<pad>", padding_side="left"
)


def toxicity(reply):
    return sum(w in rude_words for w in reply.split())


def prompt_for(topic):
    return f"customer asks about {topic} :"


# base model: has seen both kinds of replies equally often
model = GPT2LMHeadModel(GPT2Config(vocab_size=len(vocab), n_positions=32, n_embd=48, n_layer=2, n_head=4,
                                   bos_token_id=1, eos_token_id=1, pad_token_id=2,
                                   resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(150):
    batch = []
    for _ in range(16):
        t = random.choice(topics)
        batch.append(f"{prompt_for(t)} {random.choice(polite + rude)} {t} <eos>")
    enc = tokenizer(batch, return_tensors="pt", padding=True)
    labels = enc["input_ids"].masked_fill(enc["attention_mask"] == 0, -100)
    loss = model(input_ids=enc["input_ids"], attention_mask=enc["attention_mask"], labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"base model loss {loss.item():.3f}")


@torch.no_grad()
def share_courteous(n=160):
    model.eval()
    prompts = [prompt_for(topics[i % len(topics)]) for i in range(n)]
    enc = tokenizer(prompts, return_tensors="pt", padding=True)
    out = model.generate(input_ids=enc["input_ids"], attention_mask=enc["attention_mask"],
                         max_new_tokens=12, do_sample=True, top_k=0)
    replies = tokenizer.batch_decode(out[:, enc["input_ids"].shape[1] :], skip_special_tokens=True)
    return sum(toxicity(r) == 0 for r in replies) / n


print("courteous replies before:", share_courteous())

rows = []
for _ in range(480):
    t = random.choice(topics)
    candidates = [random.choice(polite) + f" {t}", random.choice(rude) + f" {t}"]
    random.shuffle(candidates)
    ranked = sorted(candidates, key=toxicity, reverse=True)
    rows.append({"prompt": prompt_for(t), "chosen": " " + ranked[0], "rejected": " " + ranked[-1]})

trainer = DPOTrainer(
    model=model,
    ref_model=copy.deepcopy(model),
    args=DPOConfig(output_dir="/tmp/dpo_tiny", per_device_train_batch_size=8, num_train_epochs=2, learning_rate=5e-4,
                   beta=0.1, logging_steps=20, report_to="none", save_strategy="no", disable_tqdm=True, use_cpu=True,
                   bf16=False, gradient_checkpointing=False),
    train_dataset=Dataset.from_list(rows),
    processing_class=tokenizer,
)
trainer.train()
for entry in trainer.state.log_history:
    if "rewards/margins" in entry:
        print(f"step {entry['step']:3d} loss {entry['loss']:.4f} reward margin {entry['rewards/margins']:.3f}")
print("courteous replies after:", share_courteous())
