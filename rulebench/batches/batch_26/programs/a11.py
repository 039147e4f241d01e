import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader, random_split

# Matrix factorisation with biases, Koren et al. 2009, eq. (4)
torch.manual_seed(10)
n_users, n_movies, rank = 300, 150, 4
true_u = torch.randn(n_users, rank) * 0.4
true_v = torch.randn(n_movies, rank) * 0.8
user_bias = torch.randn(n_users) * 0.7
movie_bias = torch.randn(n_movies) * 0.7
n_obs = 9000
u = torch.randint(0, n_users, (n_obs,))
m = torch.randint(0, n_movies, (n_obs,))
rating = 3.5 + user_bias[u] + movie_bias[m] + (true_u[u] * true_v[m]).sum(1) + 0.3 * torch.randn(n_obs)

ds = TensorDataset(u, m, rating)
train_ds, valid_ds = random_split(ds, [8000, 1000], generator=torch.Generator().manual_seed(0))
train_dl = DataLoader(train_ds, batch_size=100, shuffle=True)
valid_dl = DataLoader(valid_ds, batch_size=100)


class BiasedMF(nn.Module):
    def __init__(self, k=4):
        super().__init__()
        self.p = nn.Embedding(n_users, k)
        self.q = nn.Embedding(n_movies, k)
        self.bu = nn.Embedding(n_users, 1)
        self.bi = nn.Embedding(n_movies, 1)
        self.mu = nn.Parameter(torch.tensor(3.5))
        for e in (self.p, self.q):
            nn.init.normal_(e.weight, std=0.1)
        for e in (self.bu, self.bi):
            nn.init.zeros_(e.weight)

    def forward(self, u, m):
        dot = (self.p(u) * self.q(m)).sum(dim=1)
        return self.mu + self.bu(u) + self.bi(m) + dot


model = BiasedMF()
opt = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=2e-5)


def epoch_rmse(dl, train):
    total, n = 0.0, 0
    for ub, mb, rb in dl:
        err = model(ub, mb) - rb
        loss = (err ** 2).mean()
        if train:
            opt.zero_grad()
            loss.backward()
            opt.step()
        total += loss.item() * len(rb)
        n += len(rb)
    return (total / n) ** 0.5


for ep in range(40):
    tr = epoch_rmse(train_dl, True)
    if (ep + 1) % 5 == 0:
        with torch.no_grad():
            print(f"epoch {ep + 1:2d}  train rmse {tr:.3f}  valid rmse {epoch_rmse(valid_dl, False):.3f}")

with torch.no_grad():
    base = torch.stack([r for _, _, r in valid_ds]).std().item()
    print(f"valid RMSE {epoch_rmse(valid_dl, False):.4f} (std of the ratings {base:.4f})")
