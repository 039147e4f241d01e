"""Pre-train a tiny Llama on one counting language, LoRA-adapt it to another, then merge the adapters."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM, set_seed
from peft import LoraConfig, get_peft_model, TaskType

set_seed(77)
V, T = 32, 24


def batch(n, mult):
    s = torch.randint(0, V, (n, 1))
    cols = [s]
    for i in range(T - 1):
        nxt = (mult * cols[-1] + 3) % V
        flip = torch.rand(n, 1) < 0.05
        cols.append(torch.where(flip, torch.randint(0, V, (n, 1)), nxt))
    return torch.cat(cols, 1)


def train(model, mult, steps, lr, tag):
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr, weight_decay=0.0)
    model.train()
    for s in range(steps):
        ids = batch(32, mult)
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        if s % 50 == 0 or s == steps - 1:
            print(f"[{tag}] step {s} loss {loss.item():.4f}")


@torch.no_grad()
def acc(model, mult):
    model.eval()
    ids = batch(200, mult)
    return (model(input_ids=ids).logits[:, :-1].argmax(-1) == ids[:, 1:]).float().mean().item()


base = LlamaForCausalLM(LlamaConfig(vocab_size=V, hidden_size=48, intermediate_size=96, num_hidden_layers=2,
                                    num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=32))
train(base, 5, 250, 3e-3, "base")
print("base: source %.3f target %.3f" % (acc(base, 5), acc(base, 9)))
cfg = LoraConfig(task_type=TaskType.CAUSAL_LM, r=8, lora_alpha=32, target_modules="all-linear", lora_dropout=0.0)
model = get_peft_model(base, cfg)
model.print_trainable_parameters()
train(model, 9, 250, 1e-2, "lora")
print("adapted target accuracy %.3f" % acc(model, 9))
merged = model.merge_and_unload()
print("merged target accuracy %.3f (ceiling about 0.95)" % acc(merged, 9))
