import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification
from peft import LoraConfig, TaskType, get_peft_model

SEED = 29
torch.manual_seed(SEED)
VOCAB, LEN, TOPICS = 84, 20, 4          # ids 4.. are words, 20 per topic; 1 = CLS


def corpus(n):
    topic = torch.randint(0, TOPICS, (n,))
    words = torch.randint(4, VOCAB, (n, LEN))
    own = 4 + topic[:, None] * 20 + torch.randint(0, 20, (n, LEN))
    words = torch.where(torch.rand(n, LEN) < 0.45, own, words)
    return torch.cat([torch.ones(n, 1, dtype=torch.long), words], 1), topic


def loop(model, x, y, params, lr, epochs, tag):
    opt = torch.optim.AdamW(params, lr=lr)
    model.train()
    for ep in range(epochs):
        tot = 0.0
        for xb, yb in DataLoader(TensorDataset(x, y), 32, shuffle=True):
            loss = model(input_ids=xb, labels=yb).loss
            loss.backward()
            opt.step()
            opt.zero_grad()
            tot += loss.item() * len(xb)
        print(f"{tag} epoch {ep + 1} loss {tot / len(x):.4f}")


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(input_ids=x).logits.argmax(-1) == y).float().mean().item()


cfg = dict(vocab_size=VOCAB, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
           max_position_embeddings=32)

# ---- stage 1: "pre-training" of a topic model
x, topic = corpus(3000)
xt, topic_t = corpus(600)
base = BertForSequenceClassification(BertConfig(num_labels=TOPICS, **cfg))
loop(base, x, topic, base.parameters(), 1e-3, 6, "stage 1")
print("topic accuracy", round(accuracy(base, xt, topic_t), 3))

# ---- stage 2: adapt to a customer's task: topics {0, 3} go to desk A, {1, 2} to desk B
model = BertForSequenceClassification(BertConfig(num_labels=2, **cfg))
model.bert.load_state_dict(base.bert.state_dict())
lora = LoraConfig(task_type=TaskType.SEQ_CLS, r=4, lora_alpha=16, lora_dropout=0.05, target_modules=["query", "value"])
model = get_peft_model(model, lora)
model.print_trainable_parameters()

x2, t2 = corpus(800)
y2 = ((t2 == 1) | (t2 == 2)).long()
yt = ((topic_t == 1) | (topic_t == 2)).long()
print("before adaptation", round(accuracy(model, xt, yt), 3))
loop(model, x2, y2, [p for p in model.parameters() if p.requires_grad], 5e-3, 8, "stage 2")
print("desk accuracy on held-out texts", round(accuracy(model, xt, yt), 4))
