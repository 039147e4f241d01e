"""Pre-train a tiny GPT-2 on one synthetic language, then adapt it to a second one with LoRA."""
import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, TrainerCallback, set_seed
from peft import LoraConfig, get_peft_model

set_seed(0)
torch.set_num_threads(1)
V, T = 32, 24
rng = np.random.default_rng(0)


def make_chain(conc):
    return rng.dirichlet(np.full(V, conc), size=V)


def sample(P, n):
    seqs = np.zeros((n, T), dtype=np.int64)
    seqs[:, 0] = rng.integers(0, V, n)
    cum = P.cumsum(1)
    for t in range(1, T):
        u = rng.random(n)[:, None]
        seqs[:, t] = np.minimum((u > cum[seqs[:, t - 1]]).sum(1), V - 1)
    return seqs


class Seqs(torch.utils.data.Dataset):
    def __init__(self, arr):
        self.arr = torch.from_numpy(arr)

    def __len__(self):
        return len(self.arr)

    def __getitem__(self, i):
        # the model shifts the labels itself
        return {"input_ids": self.arr[i], "labels": self.arr[i].clone()}


class PrintLoss(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kw):
        if logs and ("loss" in logs or "eval_loss" in logs):
            print(state.global_step, {k: round(float(v), 4) for k, v in logs.items() if "loss" in k or k == "learning_rate"})


def train(model, tr, ev, steps, lr):
    args = TrainingArguments(output_dir="/tmp/_adapter", max_steps=steps, per_device_train_batch_size=32,
                             learning_rate=lr, warmup_steps=20, lr_scheduler_type="cosine", logging_steps=50,
                             save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True, seed=0)
    t = Trainer(model=model, args=args, train_dataset=tr, eval_dataset=ev, callbacks=[PrintLoss()])
    t.train()
    return t.evaluate()["eval_loss"]


A = make_chain(0.1)
B = A[:, rng.permutation(V)]
entropy = lambda P: float(-(P * np.log(P + 1e-12)).sum(1).mean())
print("row entropy A %.3f B %.3f" % (entropy(A), entropy(B)))

cfg = GPT2Config(vocab_size=V, n_positions=T, n_embd=48, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0,
                 resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
base = GPT2LMHeadModel(cfg)
loss_a = train(base, Seqs(sample(A, 3000)), Seqs(sample(A, 400)), 300, 3e-3)

lora = get_peft_model(base, LoraConfig(r=8, lora_alpha=16, target_modules=["c_attn", "c_proj", "c_fc"],
                                       fan_in_fan_out=True, task_type="CAUSAL_LM"))
lora.print_trainable_parameters()
loss_b = train(lora, Seqs(sample(B, 3000)), Seqs(sample(B, 400)), 300, 5e-3)
print(f"eval loss A {loss_a:.3f}   after adapters on B {loss_b:.3f}")
