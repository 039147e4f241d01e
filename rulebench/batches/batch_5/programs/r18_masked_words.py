"""Pretraining a toy BERT with masked language modelling on a synthetic token language."""
import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments, TrainerCallback, set_seed

set_seed(13)
torch.set_num_threads(1)
PAD, MASK, FIRST = 0, 1, 2
V, LEN = 42, 20
rng = np.random.default_rng(13)


successor = rng.permutation(np.arange(FIRST, V))


def corpus(n):
    # mostly a fixed successor for every word, sometimes a jump
    ids = np.zeros((n, LEN), dtype=np.int64)
    ids[:, 0] = rng.integers(FIRST, V, n)
    for t in range(1, LEN):
        jump = rng.random(n) < 0.1
        ids[:, t] = np.where(jump, rng.integers(FIRST, V, n), successor[ids[:, t - 1] - FIRST])
    return ids


class Lines(torch.utils.data.Dataset):
    def __init__(self, ids):
        self.ids = ids

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": torch.tensor(self.ids[i])}


def mlm_collator(features, p=0.2):
    input_ids = torch.stack([f["input_ids"] for f in features])
    masked = torch.rand(input_ids.shape) < p
    input_ids[masked] = MASK
    labels = input_ids.clone()
    labels[~masked] = -100
    return {"input_ids": input_ids, "attention_mask": torch.ones_like(input_ids), "labels": labels}


class Log(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if logs and "loss" in logs:
            print(f"step {state.global_step}  loss {float(logs['loss']):.4f}  lr {float(logs['learning_rate']):.2e}")


model = BertForMaskedLM(BertConfig(vocab_size=V, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                                   intermediate_size=96, max_position_embeddings=LEN, pad_token_id=PAD))
args = TrainingArguments(output_dir="/tmp/_mlm_toy", max_steps=900, per_device_train_batch_size=32, learning_rate=3e-3,
                         warmup_steps=50, logging_steps=50, save_strategy="no", report_to=[], use_cpu=True,
                         disable_tqdm=True, seed=13)
trainer = Trainer(model=model, args=args, train_dataset=Lines(corpus(6000)), data_collator=mlm_collator, callbacks=[Log()])
trainer.train()

model.eval()
test = torch.tensor(corpus(500))
hidden = test.clone()
cols = torch.randint(0, LEN, (500,))
hidden[torch.arange(500), cols] = MASK
with torch.no_grad():
    guess = model(input_ids=hidden).logits[torch.arange(500), cols].argmax(-1)
print("fill-in accuracy on new sentences: %.3f" % (guess == test[torch.arange(500), cols]).float().mean())
