import torch
from transformers import LlamaConfig, LlamaForCausalLM, set_seed
from peft import LoraConfig, get_peft_model

# Toy study: base language model that knows "count up" is adapted to "count down".
set_seed(0)
N = 20                              # the symbols 0..19, then the command token and the end
CMD, END = 20, 21
cfg = LlamaConfig(vocab_size=22, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                  num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=32,
                  pad_token_id=END, bos_token_id=CMD, eos_token_id=END)


def make(n, sign):
    start = torch.randint(0, N, (n,))
    step = torch.randint(1, 4, (n,)) * sign
    body = (start[:, None] + step[:, None] * torch.arange(8)) % N
    ids = torch.cat([torch.full((n, 1), CMD), body, torch.full((n, 1), END)], 1)
    labels = ids.clone()
    labels[:, :4] = -100            # command, start and the first steps are given by the user
    return ids, labels


def accuracy(m, sign, n=400):
    m.eval()
    ids, labels = make(n, sign)
    with torch.no_grad():
        pred = m(input_ids=ids).logits[:, :-1].argmax(-1)
    keep = labels[:, 1:] != -100
    m.train()
    return (pred == labels[:, 1:])[keep].float().mean().item()


def train(m, sign, lr, steps, tag):
    opt = torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], lr=lr, weight_decay=0.0)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / 20) * (1 - s / steps))
    for s in range(steps):
        ids, labels = make(32, sign)
        loss = m(input_ids=ids, labels=labels).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        sched.step()
        if s % 100 == 0:
            print(f"{tag} step {s:4d} loss {loss.item():.3f} lr {sched.get_last_lr()[0]:.5f}")


base = LlamaForCausalLM(cfg)
train(base, +1, 3e-3, 300, "base")
print("base: up %.3f, down %.3f" % (accuracy(base, 1), accuracy(base, -1)))

peft_model = get_peft_model(base, LoraConfig(
    r=4, lora_alpha=16, lora_dropout=0.0, task_type="CAUSAL_LM",
    target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]))
peft_model.print_trainable_parameters()
train(peft_model, -1, 1e-2, 300, "lora")
print("adapter on: down %.3f" % accuracy(peft_model, -1))
with peft_model.disable_adapter():
    print("adapter off: up %.3f" % accuracy(peft_model, 1))
