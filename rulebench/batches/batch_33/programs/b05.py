import logging, os, warnings
import numpy as np
import torch
import torch.nn.functional as F
from transformers import BertConfig, BertForSequenceClassification
from peft import LoraConfig, TaskType, get_peft_model

warnings.filterwarnings("ignore")
logging.getLogger("transformers").setLevel(logging.ERROR)
SEED = 0
torch.manual_seed(SEED)
torch.set_num_threads(1)
rng = np.random.default_rng(SEED)

V, LEN = 40, 16
CLS = 1


def make_topics():
    """four word distributions over the whole vocabulary"""
    return rng.dirichlet(np.full(V - 4, 0.4), size=4)


def corpus(n, topics):
    lab = rng.integers(0, 4, n)
    ids = np.stack([rng.choice(np.arange(4, V), LEN, p=topics[k]) for k in lab])
    noise = rng.random(ids.shape) < 0.3
    ids[noise] = rng.integers(4, V, noise.sum())
    ids[:, 0] = CLS
    return torch.tensor(ids), torch.tensor(lab)


def run(model, data, params, epochs, lr, tag):
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    total = epochs * (len(data[0]) // 64)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 30) * max(0.05, 1 - s / total))
    for ep in range(epochs):
        model.train()
        tot = 0.0
        for idx in torch.randperm(len(data[0])).split(64)[:len(data[0]) // 64]:
            out = model(input_ids=data[0][idx], attention_mask=torch.ones_like(data[0][idx]), labels=data[1][idx])
            out.loss.backward()
            opt.step()
            opt.zero_grad()
            sched.step()
            tot += out.loss.item() * len(idx)
        print(f"[{tag}] epoch {ep + 1} loss {tot / len(data[0]):.4f}")


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    return (model(input_ids=data[0]).logits.argmax(-1) == data[1]).float().mean().item()


cfg = BertConfig(vocab_size=V, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                 max_position_embeddings=LEN, num_labels=4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
base = BertForSequenceClassification(cfg)
old_topics, new_topics = make_topics(), make_topics()
src_train, src_test = corpus(4000, old_topics), corpus(1000, old_topics)
run(base, src_train, base.parameters(), 6, 1e-3, "source")
print(f"source task accuracy {accuracy(base, src_test):.4f}")

# new task: other topics over the same words; the trunk stays as it is, only low-rank adapters and the head learn
tgt_train, tgt_test = corpus(4000, new_topics), corpus(1000, new_topics)
lora = LoraConfig(task_type=TaskType.SEQ_CLS, r=8, lora_alpha=16, lora_dropout=0.0, target_modules=["query", "value", "dense"])
model = get_peft_model(base, lora)
model.print_trainable_parameters()
print(f"target accuracy before adapting {accuracy(model, tgt_test):.4f}")
run(model, tgt_train, [p for p in model.parameters() if p.requires_grad], 10, 5e-3, "target")
print(f"target accuracy after adapting {accuracy(model, tgt_test):.4f}")
