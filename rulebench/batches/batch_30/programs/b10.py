"""Train a very small GPT-2 from scratch on a toy grammar with the HF Trainer, then generate."""
import random
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

set_seed(4)
VOCAB = ["<pad>", "<bos>", "<eos>"] + "the a cat dog bird sees chases likes small red old and sleeps runs".split()
stoi = {w: i for i, w in enumerate(VOCAB)}


def np_():
    adj = random.choice(["small", "red", "old", ""])
    return " ".join(w for w in [random.choice(["the", "a"]), adj, random.choice(["cat", "dog", "bird"])] if w)


def sentence():
    s = np_() + " " + (random.choice(["sees", "chases", "likes"]) + " " + np_() if random.random() < 0.6
                       else random.choice(["sleeps", "runs"]))
    return s + (" and " + np_() + " " + random.choice(["sleeps", "runs"]) if random.random() < 0.3 else "")


class Sentences(Dataset):
    def __init__(self, n, block=16):
        self.rows = []
        for _ in range(n):
            ids = [1] + [stoi[w] for w in sentence().split()] + [2]
            self.rows.append(ids + [0] * (block - len(ids)))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids = torch.tensor(self.rows[i])
        mask = (ids != 0).long()
        # next-token targets, padding ignored
        labels = torch.full_like(ids, -100)
        labels[:-1] = ids[1:]
        labels[labels == 0] = -100
        return {"input_ids": ids, "attention_mask": mask, "labels": labels}


config = GPT2Config(vocab_size=len(VOCAB), n_positions=16, n_embd=48, n_layer=2, n_head=4,
                    bos_token_id=1, eos_token_id=2, pad_token_id=0)
model = GPT2LMHeadModel(config)
args = TrainingArguments(output_dir="out_gpt", per_device_train_batch_size=32, num_train_epochs=6,
                         learning_rate=3e-3, logging_steps=50, save_strategy="no", report_to=[],
                         use_cpu=True, disable_tqdm=True, lr_scheduler_type="cosine", warmup_steps=20)
trainer = Trainer(model=model, args=args, train_dataset=Sentences(2000), eval_dataset=Sentences(200))
trainer.train()
print("eval loss", trainer.evaluate()["eval_loss"])

model.eval()
DET, ADJ, N = {"the", "a"}, {"small", "red", "old"}, {"cat", "dog", "bird"}
VT, VI = {"sees", "chases", "likes"}, {"sleeps", "runs"}


def grammatical(words):
    tag = "".join("D" if w in DET else "A" if w in ADJ else "N" if w in N else "T" if w in VT else
                  "I" if w in VI else "&" if w == "and" else "?" for w in words)
    import re
    return re.fullmatch(r"DA?N(TDA?N|I)(&DA?NI)?", tag) is not None


out = model.generate(torch.full((100, 1), 1), do_sample=True, max_new_tokens=14, pad_token_id=0)
texts = [[VOCAB[i] for i in r.tolist() if i > 2] for r in out]
for t in texts[:3]:
    print("  >", " ".join(t))
print("grammatical samples: %.2f" % (sum(map(grammatical, texts)) / len(texts)))
