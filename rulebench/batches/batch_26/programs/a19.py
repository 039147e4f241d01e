"""Two layer GCN (Kipf & Welling) on a citation-like random graph, without any graph library."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
N, C, D = 600, 4, 32

# planted partition graph and bag-of-words like features
label = torch.randint(0, C, (N,))
same = label[:, None] == label[None, :]
A = (torch.rand(N, N) < torch.where(same, 0.035, 0.004)).float().triu(1)
A = A + A.T
topic = torch.rand(C, D) * 0.25 + 0.03
X = (torch.rand(N, D) < topic[label]).float()

A_hat = A + torch.eye(N)
d = A_hat.sum(1).rsqrt()
A_hat = d[:, None] * A_hat * d[None, :]

perm = torch.randperm(N)
idx_train, idx_val, idx_test = perm[:80], perm[80:200], perm[200:]


class GCN(nn.Module):
    def __init__(self, d_in, d_hid, d_out, p):
        super().__init__()
        self.w1 = nn.Linear(d_in, d_hid, bias=False)
        self.w2 = nn.Linear(d_hid, d_out, bias=False)
        self.p = p

    def forward(self, a, x):
        x = F.dropout(x, self.p, self.training)
        x = F.relu(a @ self.w1(x))
        x = F.dropout(x, self.p, self.training)
        return a @ self.w2(x)


model = GCN(D, 32, C, 0.5)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
best, best_state = 0.0, None
for epoch in range(400):
    model.train()
    optimizer.zero_grad()
    out = model(A_hat, X)
    loss = F.cross_entropy(out[idx_train], label[idx_train])
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.no_grad():
        pred = model(A_hat, X).argmax(1)
    val = (pred[idx_val] == label[idx_val]).float().mean().item()
    if val > best:
        best, best_state = val, {k: v.clone() for k, v in model.state_dict().items()}
    if epoch % 50 == 0:
        print(f"Epoch {epoch:3d} | loss {loss.item():.4f} | val {val:.4f}")

model.load_state_dict(best_state)
model.eval()
with torch.no_grad():
    pred = model(A_hat, X).argmax(1)
print(f"test accuracy {(pred[idx_test] == label[idx_test]).float().mean().item():.4f} (best val {best:.4f})")
