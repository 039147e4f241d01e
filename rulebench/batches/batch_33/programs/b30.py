import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(0); torch.set_num_threads(1)

# Homework 4: sequence classification with an LSTM.
# The task: does the sequence contain more 'A ... B' (A later followed by B within 3 steps) than the threshold?
def make_data(n, T=20):
    seq = torch.randint(0, 6, (n, T))
    cnt = torch.zeros(n)
    for lag in (1, 2, 3):
        cnt += ((seq[:, :-lag] == 0) & (seq[:, lag:] == 1)).float().sum(1)
    return seq, (cnt >= 2).long()

xtr, ytr = make_data(8000)
xte, yte = make_data(2000)
print('positive rate', ytr.float().mean().item())

class LSTMClassifier(nn.Module):
    def __init__(self, vocab=6, emb=16, hid=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hid, batch_first=True)
        self.out = nn.Linear(hid, 2)

    def forward(self, x):
        h, _ = self.lstm(self.emb(x))
        return self.out(h.mean(1))

net = LSTMClassifier()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
# drop the learning rate by 10x every 8 epochs, like in the paper
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=8, gamma=0.1)
lossf = nn.CrossEntropyLoss()
dl = DataLoader(TensorDataset(xtr, ytr), batch_size=100, shuffle=True)

for ep in range(20):
    net.train(); tot = 0.
    for x, y in dl:
        opt.zero_grad()
        l = lossf(net(x), y)
        l.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        sched.step()
        tot += l.item()
    net.eval()
    with torch.no_grad():
        acc = (net(xte).argmax(1) == yte).float().mean().item()
    print('epoch %d loss %.4f test acc %.4f' % (ep, tot / len(dl), acc))

print('FINAL test accuracy: %.4f' % acc)
