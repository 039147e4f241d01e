# Time sequence prediction: two LSTM cells learn some sine waves and go on
# with them for as long as we like. Whole training set in every step, LBFGS.
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

SEED = 0


class Sequence(nn.Module):
    def __init__(self, hidden=24):
        super(Sequence, self).__init__()
        self.hidden = hidden
        self.lstm1 = nn.LSTMCell(1, hidden)
        self.lstm2 = nn.LSTMCell(hidden, hidden)
        self.linear = nn.Linear(hidden, 1)

    def forward(self, input, future=0):
        outputs = []
        n = input.size(0)
        h_t, c_t, h_t2, c_t2 = (torch.zeros(n, self.hidden, dtype=torch.double) for _ in range(4))
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8, help="steps to run")
    opt = parser.parse_args()
    np.random.seed(SEED)
    torch.manual_seed(SEED)

    T, L, N = 12, 120, 24
    x = np.arange(L) + np.random.randint(-4 * T, 4 * T, N).reshape(N, 1)
    data = torch.from_numpy(np.sin(x / 1.0 / T))
    train_in, train_out = data[3:, :-1], data[3:, 1:]
    test_in, test_out = data[:3, :-1], data[:3, 1:]

    seq = Sequence().double()
    criterion = nn.MSELoss()
    # LBFGS as we can load the whole data to train
    optimizer = optim.LBFGS(seq.parameters(), lr=0.8)

    for i in range(opt.steps):
        def closure():
            optimizer.zero_grad()
            out = seq(train_in)
            loss = criterion(out, train_out)
            loss.backward()
            return loss
        loss = optimizer.step(closure)
        with torch.no_grad():
            pred = seq(test_in, future=60)
            test_loss = criterion(pred[:, :-60], test_out)
        print("STEP %d  loss %.6f  test loss %.6f" % (i, loss.item(), test_loss.item()))

    truth = np.sin((x[:3, -1:] + 1 + np.arange(60)) / 1.0 / T)
    err = np.sqrt(np.mean((pred[:, -60:].numpy() - truth) ** 2))
    print("RMSE of 60 free running steps: %.4f (std of the wave %.3f)" % (err, truth.std()))
