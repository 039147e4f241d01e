"""LoRA adaptation of a small causal LM to a new dialect."""
import random

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

set_seed(77)
random.seed(77)

VOCAB, LENGTH, BATCH = 40, 16, 32
base_next = torch.randint(0, VOCAB, (VOCAB, 2))
dialect_next = base_next.clone()
changed = torch.randperm(VOCAB)[:14]
dialect_next[changed] = torch.randint(0, VOCAB, (14, 2))


def sample(table, n):
    """A second-choice continuation is taken in 20 percent of the steps."""
    seq = torch.empty(n, LENGTH, dtype=torch.long)
    seq[:, 0] = torch.randint(0, VOCAB, (n,))
    for t in range(1, LENGTH):
        choice = (torch.rand(n) < 0.2).long()
        seq[:, t] = table[seq[:, t - 1], choice]
    return seq


config = GPT2Config(vocab_size=VOCAB, n_positions=LENGTH, n_embd=64, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = GPT2LMHeadModel(config)


def fit(model, table, steps, lr, name):
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    model.train()
    for step in range(1, steps + 1):
        ids = sample(table, BATCH)
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 50 == 0:
            print(f"{name} step {step}: loss {loss.item():.4f}")


@torch.no_grad()
def evaluate(model, table):
    model.eval()
    ids = sample(table, 400)
    return model(input_ids=ids, labels=ids).loss.item()


fit(model, base_next, 200, 3e-3, "base")
print(f"base model: base loss {evaluate(model, base_next):.4f}, dialect loss {evaluate(model, dialect_next):.4f}")

before = {k: v.clone() for k, v in model.state_dict().items()}
peft_model = get_peft_model(
    model,
    LoraConfig(r=8, lora_alpha=32, lora_dropout=0.0, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True,
               task_type="CAUSAL_LM"),
)
peft_model.print_trainable_parameters()
fit(peft_model, dialect_next, 250, 1e-2, "lora")
print(f"with adapter: dialect loss {evaluate(peft_model, dialect_next):.4f}")
with peft_model.disable_adapter():
    print(f"adapter switched off: base loss {evaluate(peft_model, base_next):.4f}")

merged = peft_model.merge_and_unload()
print(f"merged model: dialect loss {evaluate(merged, dialect_next):.4f}")
print("embedding unchanged:", torch.equal(before["transformer.wte.weight"], merged.state_dict()["transformer.wte.weight"]))
