# Document topics with LoRA adapters on a small encoder
import numpy as np
import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from transformers import RobertaConfig, RobertaForSequenceClassification, RobertaForMaskedLM

torch.manual_seed(21)
rng = np.random.default_rng(21)

VOCAB, SEQ, CLASSES = 120, 20, 8
topic_words = rng.permutation(np.arange(10, 114)).reshape(CLASSES, 13)


def documents(n):
    y = rng.integers(0, CLASSES, n)
    x = rng.integers(10, 114, (n, SEQ))
    for i in range(n):
        k = rng.integers(8, 13)
        x[i, rng.choice(SEQ, k, replace=False)] = rng.choice(topic_words[y[i]], k)
    x = np.concatenate([np.zeros((n, 1), int), x, np.full((n, 1), 2)], axis=1)
    return torch.tensor(x), torch.tensor(y)


config = RobertaConfig(vocab_size=VOCAB, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                       intermediate_size=96, max_position_embeddings=40, num_labels=CLASSES)

# short masked-token pretraining of the encoder
mlm = RobertaForMaskedLM(config)
opt = torch.optim.AdamW(mlm.parameters(), lr=2e-3)
for step in range(100):
    x, _ = documents(32)
    labels = x.clone()
    masked = (torch.rand(x.shape) < 0.15) & (x >= 10)
    labels[~masked] = -100
    loss = mlm(input_ids=x.masked_fill(masked, 4), labels=labels).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"pretraining: masked token loss {loss.item():.3f}")

model = RobertaForSequenceClassification(config)
model.roberta.load_state_dict(mlm.roberta.state_dict())

lora_config = LoraConfig(
    r=4,
    lora_alpha=8,
    target_modules=["query", "value"],
    lora_dropout=0.0,
    bias="none",
)
model = get_peft_model(model, lora_config)
model.print_trainable_parameters()

x_train, y_train = documents(1600)
x_test, y_test = documents(600)
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)


def test_accuracy():
    model.eval()
    with torch.no_grad():
        logits = model(input_ids=x_test).logits
    return (logits.argmax(-1) == y_test).float().mean().item()


for epoch in range(5):
    model.train()
    perm = torch.randperm(len(x_train))
    total = 0.0
    for i in range(0, len(perm), 32):
        idx = perm[i:i + 32]
        logits = model(input_ids=x_train[idx]).logits
        loss = F.cross_entropy(logits, y_train[idx])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item() * len(idx)
    print(f"epoch {epoch + 1}: loss {total / len(perm):.4f}  test accuracy {test_accuracy():.4f}")
