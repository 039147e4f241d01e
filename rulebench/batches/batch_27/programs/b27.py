"""Adapting a small language model to another dialect with LoRA: the base stays frozen."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

SEED = 5
torch.manual_seed(SEED)
V, T = 40, 24
base_map = torch.randperm(V)
dialect_map = base_map.clone()
moved = torch.randperm(V)[:20]
dialect_map[moved] = base_map[moved.roll(1)]


def sample(mapping, n):
    """every word is followed by mapping[word], with 10 % of surprises"""
    seq = torch.zeros(n, T, dtype=torch.long)
    seq[:, 0] = torch.randint(0, V, (n,))
    for t in range(1, T):
        nxt = mapping[seq[:, t - 1]]
        rnd = torch.randint(0, V, (n,))
        seq[:, t] = torch.where(torch.rand(n) < 0.1, rnd, nxt)
    return seq


@torch.no_grad()
def next_word_accuracy(model, mapping):
    model.eval()
    x = sample(mapping, 200)
    pred = model(input_ids=x).logits[:, :-1].argmax(-1)
    model.train()
    return (pred == x[:, 1:]).float().mean().item()


def train(model, mapping, steps, lr, name):
    weights = [p for p in model.parameters() if p.requires_grad]
    print(name, "trainable", sum(p.numel() for p in weights), "of", sum(p.numel() for p in model.parameters()))
    opt = torch.optim.AdamW(weights, lr=lr, weight_decay=0.0)
    for step in range(steps):
        for group in opt.param_groups:
            group["lr"] = lr * (1 - step / steps)
        x = sample(mapping, 32)
        loss = model(input_ids=x, labels=x).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(f"{name} step {step} loss {loss.item():.3f}")


cfg = GPT2Config(vocab_size=V, n_positions=T, n_embd=48, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0,
                 resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
lm = GPT2LMHeadModel(cfg)
train(lm, base_map, 400, 3e-3, "base")
print("base model: own dialect %.3f, other dialect %.3f"
      % (next_word_accuracy(lm, base_map), next_word_accuracy(lm, dialect_map)))

lora = get_peft_model(lm, LoraConfig(task_type="CAUSAL_LM", r=16, lora_alpha=32, lora_dropout=0.0, fan_in_fan_out=True,
                                     target_modules=["c_attn", "c_fc", "c_proj"]))
train(lora, dialect_map, 600, 5e-3, "lora")
print("adapted model: next-word accuracy on the other dialect %.3f (ceiling about 0.90)"
      % next_word_accuracy(lora, dialect_map))
