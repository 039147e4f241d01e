"""Two-tower retrieval: match a query with its document (in-batch negatives)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(33)
torch.set_num_threads(1)

TOPICS, QV, DV, QL, DL = 1200, 500, 800, 6, 20
# a topic is a set of 5 concepts of 200; queries and documents use different words for the concepts
concepts = torch.stack([torch.randperm(200)[:5] for _ in range(TOPICS)])
q_words = torch.randint(0, QV, (200, 3))
d_words = torch.randint(0, DV, (200, 4))


def query(t):
    c = concepts[t][torch.arange(len(t))[:, None], torch.randint(0, 5, (len(t), QL))]
    w = q_words[c, torch.randint(0, 3, c.shape)]
    noise = torch.rand(w.shape) < 0.1
    return torch.where(noise, torch.randint(0, QV, w.shape), w)


def document(t):
    c = concepts[t][torch.arange(len(t))[:, None], torch.randint(0, 5, (len(t), DL))]
    w = d_words[c, torch.randint(0, 4, c.shape)]
    noise = torch.rand(w.shape) < 0.3
    return torch.where(noise, torch.randint(0, DV, w.shape), w)


class Tower(nn.Module):
    def __init__(self, vocab, dim=64):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.mlp = nn.Sequential(nn.Linear(dim, 128), nn.ReLU(), nn.Linear(128, dim))

    def forward(self, w):
        e = self.emb(w)
        return F.normalize(e + self.mlp(e), dim=-1)


qt, dt = Tower(QV), Tower(DV)
opt = torch.optim.Adam(list(qt.parameters()) + list(dt.parameters()), lr=2e-3)
temperature = 0.07
train_topics, test_topics = torch.arange(900), torch.arange(900, 1200)


@torch.no_grad()
def recall(topics, k=1):
    qt.eval(); dt.eval()
    sim = qt(query(topics)) @ dt(document(topics)).T
    top = sim.topk(k, dim=1).indices
    hit = (top == torch.arange(len(topics))[:, None]).any(1).float().mean().item()
    qt.train(); dt.train()
    return hit


for step in range(1, 1201):
    t = train_topics[torch.randperm(900)[:128]]
    logits = qt(query(t)) @ dt(document(t)).T * temperature
    target = torch.arange(len(t))
    loss = 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 150 == 0:
        print(f"step {step} loss {loss.item():.4f} recall@1 train {recall(train_topics):.3f} test {recall(test_topics):.3f}")

print("test recall@1 %.4f recall@5 %.4f" % (recall(test_topics), recall(test_topics, 5)))
