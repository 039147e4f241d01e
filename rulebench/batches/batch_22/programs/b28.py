import random
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForSequenceClassification, get_linear_schedule_with_warmup

random.seed(13)
torch.manual_seed(13)

# ---------------------------------------------------------------- data
OPEN = ["i bought this {} for my {} last month", "my {} got the {} as a present", "we ordered one {} and another {} online"]
THINGS = "kettle camera chair lamp radio jacket phone bottle desk bag".split()
PEOPLE = "brother sister office mother friend kitchen garden trip".split()
MID = ["it came in a {} box after {} days", "the manual has {} pages and a {} cover", "there is a {} button and {} lights"]
ADJ = "big small blue red plain heavy three five ten two".split()
GOOD = ["overall it works perfectly and i am happy", "in the end i would buy it again", "so far a wonderful product"]
BAD = ["overall it broke quickly and i am angry", "in the end i sent it back", "so far a terrible product"]
MILD_GOOD, MILD_BAD = "nice", "odd"


def review():
    y = random.random() < 0.5
    s = [random.choice(OPEN).format(random.choice(THINGS), random.choice(PEOPLE))]
    for _ in range(random.randint(1, 3)):
        s.append(random.choice(MID).format(random.choice(ADJ), random.choice(ADJ)))
    hint = MILD_GOOD if (random.random() < 0.78) == y else MILD_BAD
    s[0] += f" and thought it looked {hint}"
    s.append(random.choice(GOOD if y else BAD))
    return " . ".join(s), int(y)


train_rows = [review() for _ in range(1600)]
test_rows = [review() for _ in range(400)]

# ---------------------------------------------------------------- tokenizer
tk = Tokenizer(models.WordLevel(unk_token="[UNK]"))
tk.pre_tokenizer = pre_tokenizers.Whitespace()
tk.train_from_iterator([t for t, _ in train_rows],
                       trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]"], vocab_size=300))
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tk, pad_token="[PAD]", unk_token="[UNK]")


def collate(rows):
    texts, ys = zip(*rows)
    enc = tokenizer(list(texts), padding=True, truncation=True, max_length=24, return_tensors="pt")
    return enc["input_ids"], enc["attention_mask"], torch.tensor(ys)


train_dl = DataLoader(train_rows, batch_size=32, shuffle=True, collate_fn=collate)
test_dl = DataLoader(test_rows, batch_size=100, collate_fn=collate)

# ---------------------------------------------------------------- model
config = RobertaConfig(vocab_size=len(tokenizer), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                       intermediate_size=96, max_position_embeddings=96, num_labels=2, pad_token_id=0,
                       bos_token_id=0, eos_token_id=0)
model = RobertaForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
EPOCHS = 5
sched = get_linear_schedule_with_warmup(optimizer, 20, EPOCHS * len(train_dl))

for epoch in range(EPOCHS):
    model.train()
    running = 0.0
    for ids, att, y in train_dl:
        out = model(input_ids=ids, attention_mask=att, labels=y)
        out.loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        sched.step()
        optimizer.zero_grad()
        running += out.loss.item()
    model.eval()
    good = 0
    with torch.no_grad():
        for ids, att, y in test_dl:
            good += (model(input_ids=ids, attention_mask=att).logits.argmax(-1) == y).sum().item()
    print(f"epoch {epoch + 1}: train loss {running / len(train_dl):.4f}, test accuracy {good / len(test_rows):.4f}")
