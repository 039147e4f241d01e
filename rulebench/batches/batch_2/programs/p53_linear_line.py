# y = 2x + 1, the hello world
import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 40).reshape(-1, 1)
y = 2 * x + 1 + 0.05 * torch.randn_like(x)

w = torch.zeros(1, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
model = torch.nn.Linear(1, 1)
with torch.no_grad():
    model.weight.zero_()
    model.bias.zero_()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(300):
    y_hat = model(x)
    loss = torch.nn.functional.mse_loss(y_hat, y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    # the same thing by hand, for comparison
    l2 = ((x @ w + b - y) ** 2).mean()
    gw, gb = torch.autograd.grad(l2, (w, b))
    with torch.no_grad():
        w -= 0.1 * gw
        b -= 0.1 * gb
    if epoch % 50 == 0:
        print(f"epoch {epoch} loss {loss.item():.5f} by hand {l2.item():.5f}")
print("w, b =", model.weight.item(), model.bias.item(), "| by hand", w.item(), b.item())
