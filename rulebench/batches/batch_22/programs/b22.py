import torch
import torch.nn.functional as F
from peft import LoraConfig, TaskType, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

set_seed(5)
VOCAB, LEN, BATCH = 24, 24, 32


def cyclic(n, steps, gen):
    start = torch.randint(0, VOCAB, (n, 1), generator=gen)
    step = steps[torch.randint(0, len(steps), (n, 1), generator=gen)]
    return (start + step * torch.arange(LEN)) % VOCAB


def zigzag(n, gen):
    """up by 4, down by 1, up by 4, ..."""
    start = torch.randint(0, VOCAB, (n, 1), generator=gen)
    inc = torch.tensor([4, -1]).repeat(LEN // 2)
    return (start + torch.cat([torch.zeros(1, dtype=torch.long), inc.cumsum(0)[:-1]])) % VOCAB


gen = torch.Generator().manual_seed(5)
base_steps = torch.tensor([1, 2, 3])


@torch.no_grad()
def accuracy(model, batch):
    model.eval()
    pred = model(input_ids=batch).logits[:, 3:-1].argmax(-1)
    model.train()
    return (pred == batch[:, 4:]).float().mean().item()


def fit(model, sampler, iters, lr, name, test):
    params = [p for p in model.parameters() if p.requires_grad]
    print(name, "- trainable parameters:", sum(p.numel() for p in params))
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.1, total_iters=iters)
    for it in range(1, iters + 1):
        batch = sampler()
        loss = model(input_ids=batch, labels=batch).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if it % 50 == 0:
            print(f"{name} {it} loss {loss.item():.4f} acc {accuracy(model, test):.3f}")


config = GPT2Config(vocab_size=VOCAB, n_positions=LEN, n_embd=64, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
base = GPT2LMHeadModel(config)
test_a = cyclic(200, base_steps, torch.Generator().manual_seed(77))
test_b = zigzag(200, torch.Generator().manual_seed(78))
fit(base, lambda: cyclic(BATCH, base_steps, gen), 250, 2e-3, "base", test_a)

peft_cfg = LoraConfig(task_type=TaskType.CAUSAL_LM, r=8, lora_alpha=16, lora_dropout=0.0,
                      target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True)
model = get_peft_model(base, peft_cfg)
before = base.transformer.h[0].attn.c_attn.base_layer.weight.clone()
print("zigzag accuracy before adaptation:", round(accuracy(model, test_b), 3))
fit(model, lambda: zigzag(BATCH, gen), 250, 1e-2, "lora", test_b)
print("base weights unchanged:", torch.equal(before, base.transformer.h[0].attn.c_attn.base_layer.weight))
with model.disable_adapter():
    print("first task with the adapter off:", round(accuracy(model, test_a), 3))
