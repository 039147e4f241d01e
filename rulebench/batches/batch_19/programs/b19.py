# Adapt a small causal LM from one counting pattern to another with LoRA
import torch
from peft import LoraConfig, TaskType, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(6)
VOCAB, LENGTH = 32, 16


def sequences(n, stride):
    start = torch.randint(VOCAB, (n, 1))
    return (start + stride * torch.arange(LENGTH)) % VOCAB


def run(model, params, stride, steps, lr, log):
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    model.train()
    for step in range(1, steps + 1):
        x = sequences(32, stride)
        loss = model(input_ids=x, labels=x).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
        opt.zero_grad()
        if step % log == 0:
            print(f"  step {step} loss {loss.item():.4f}")


@torch.no_grad()
def next_token_accuracy(model, stride):
    model.eval()
    x = sequences(200, stride)
    pred = model(input_ids=x).logits[:, :-1].argmax(-1)
    return (pred == x[:, 1:]).float().mean().item()


config = LlamaConfig(vocab_size=VOCAB, hidden_size=48, intermediate_size=96, num_hidden_layers=2,
                     num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
                     bos_token_id=None, eos_token_id=None, pad_token_id=None)
base = LlamaForCausalLM(config)
print("pretraining on stride 1")
run(base, list(base.parameters()), 1, 120, 3e-3, 30)
print("stride 1 accuracy", next_token_accuracy(base, 1), "stride 3 accuracy", next_token_accuracy(base, 3))

lora = LoraConfig(task_type=TaskType.CAUSAL_LM, r=8, lora_alpha=16, lora_dropout=0.0,
                  target_modules=["q_proj", "v_proj", "o_proj", "up_proj", "down_proj"])
model = get_peft_model(base, lora)
model.print_trainable_parameters()
trainable = [p for p in model.parameters() if p.requires_grad]
print("adapting to stride 3")
run(model, trainable, 3, 200, 1e-2, 20)
print("with adapter: stride 3 accuracy", next_token_accuracy(model, 3))
with model.disable_adapter():
    print("adapter off: stride 1 accuracy", next_token_accuracy(model, 1))
