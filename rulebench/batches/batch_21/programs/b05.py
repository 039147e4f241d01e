"""Adapt a small BERT trained on one topic task to a second one with LoRA."""
import torch
from peft import LoraConfig, TaskType, get_peft_model
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup, set_seed

set_seed(13)
VOCAB, LENGTH = 200, 16


def make_task(n, generator, table, n_classes):
    """The class with most supporting words in the sentence wins."""
    ids = torch.randint(10, VOCAB, (n, LENGTH), generator=generator)
    labels = torch.randint(0, n_classes, (n,), generator=generator)
    for c in range(n_classes):
        rows = (labels == c).nonzero().squeeze(1)
        words = (table == c).nonzero().squeeze(1)
        words = words[words >= 10]
        for slot in range(6):
            pick = words[torch.randint(0, len(words), (len(rows),), generator=generator)]
            ids[rows, slot] = pick
    shuffle = torch.rand(n, LENGTH, generator=generator).argsort(1)
    ids = torch.gather(ids, 1, shuffle)
    return TensorDataset(ids, labels)


gen = torch.Generator().manual_seed(13)
table_a = torch.randint(0, 4, (VOCAB,), generator=gen)
table_b = torch.randint(0, 4, (VOCAB,), generator=gen)
source = make_task(1600, gen, table_a, 4)
target_train = make_task(1600, gen, table_b, 4)
target_test = make_task(500, gen, table_b, 4)

config = BertConfig(
    vocab_size=VOCAB, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
    intermediate_size=128, max_position_embeddings=32, num_labels=4,
)
model = BertForSequenceClassification(config)


def train(model, optimizer, dataset, epochs, tag):
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    schedule = get_linear_schedule_with_warmup(optimizer, 10, epochs * len(loader))
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for ids, labels in loader:
            out = model(input_ids=ids, labels=labels)
            out.loss.backward()
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            total += out.loss.item()
        print(f"[{tag}] epoch {epoch + 1} loss {total / len(loader):.4f}")


@torch.no_grad()
def accuracy(model, dataset):
    model.eval()
    hits = sum((model(input_ids=i).logits.argmax(-1) == l).sum().item() for i, l in DataLoader(dataset, batch_size=100))
    return hits / len(dataset)


optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
train(model, optimizer, source, epochs=3, tag="source")

optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
lora = LoraConfig(task_type=TaskType.SEQ_CLS, r=16, lora_alpha=32, lora_dropout=0.0,
                  target_modules=["query", "key", "value", "dense"])
model = get_peft_model(model, lora)
model.print_trainable_parameters()
train(model, optimizer, target_train, epochs=7, tag="target")
print(f"target task test accuracy: {accuracy(model, target_test):.4f}")
