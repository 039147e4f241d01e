"""Adapt a small pretrained BERT to a new labelling task with LoRA."""
import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification, set_seed
from peft import LoraConfig, get_peft_model

set_seed(17)
torch.set_num_threads(1)
VOCAB, LEN, N_TOPIC, N_CLASS = 120, 12, 12, 6
gen = torch.Generator().manual_seed(17)
topic_vocab = torch.stack([torch.randperm(VOCAB - 4, generator=gen)[:20] + 4 for _ in range(N_TOPIC)])
section = torch.randperm(N_TOPIC, generator=gen) % N_CLASS      # which newspaper section a topic belongs to


def documents(n):
    topic = torch.randint(0, N_TOPIC, (n,), generator=gen)
    pick = torch.randint(0, 20, (n, LEN), generator=gen)
    x = topic_vocab[topic].gather(1, pick)
    noise = torch.rand(n, LEN, generator=gen) < 0.2
    x[noise] = torch.randint(4, VOCAB, (int(noise.sum()),), generator=gen)
    return x, topic


def config(num_labels):
    return BertConfig(vocab_size=VOCAB, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                      intermediate_size=96, max_position_embeddings=32, num_labels=num_labels,
                      hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


# short pretraining on the topics
source = BertForSequenceClassification(config(N_TOPIC))
opt = torch.optim.AdamW(source.parameters(), lr=2e-3)
for step in range(250):
    x, topic = documents(32)
    loss = source(input_ids=x, labels=topic).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print(f"pretraining step {step + 1} loss {loss.item():.3f}")

# classification with low-rank adapters
clf = BertForSequenceClassification(config(N_CLASS))
clf.bert.load_state_dict(source.bert.state_dict())
lora = LoraConfig(r=4, lora_alpha=8, target_modules=["query", "value"], lora_dropout=0.0)
model = get_peft_model(clf, lora)
model.print_trainable_parameters()

train_x, train_y = documents(1200)
test_x, test_y = documents(600)
train_y, test_y = section[train_y], section[test_y]
loader = DataLoader(TensorDataset(train_x, train_y), batch_size=32, shuffle=True)
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3)


def accuracy():
    model.eval()
    with torch.no_grad():
        pred = model(input_ids=test_x).logits.argmax(-1)
    model.train()
    return (pred == test_y).float().mean().item()


for epoch in range(4):
    total = 0.0
    for x, y in loader:
        loss = model(input_ids=x, labels=y).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f} test acc {accuracy():.4f}")
