import copy, random
from collections import deque
import numpy as np
import torch
import torch.nn as nn

# Double DQN on a windy 6x6 grid.  +1 at the goal, -1 in the pits, -0.01 per move.
SEED = 1234
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)
N = 6
PITS = {(1, 1), (2, 4), (4, 2), (3, 3)}
GOAL = (5, 5)
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]

def encode(p):
    v = np.zeros(2 * N, np.float32); v[p[0]] = 1; v[N + p[1]] = 1
    return v

def step(p, a):
    if random.random() < 0.1:
        a = random.randrange(4)
    q = (min(max(p[0] + MOVES[a][0], 0), N - 1), min(max(p[1] + MOVES[a][1], 0), N - 1))
    if q == GOAL: return q, 1.0, True
    if q in PITS: return q, -1.0, True
    return q, -0.01, False

def start():
    while True:
        p = (random.randrange(N), random.randrange(N))
        if p != GOAL and p not in PITS:
            return p

q_net = nn.Sequential(nn.Linear(2 * N, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
target = copy.deepcopy(q_net)
opt = torch.optim.RMSprop(q_net.parameters(), lr=5e-4)
memory = deque(maxlen=10000)
p, t, returns, ret = start(), 0, deque(maxlen=100), 0.0

for frame in range(9000):
    eps = max(0.05, 1 - frame / 4000)
    if random.random() < eps:
        a = random.randrange(4)
    else:
        with torch.no_grad():
            a = int(q_net(torch.from_numpy(encode(p))).argmax())
    q, r, done = step(p, a)
    t += 1; ret += r
    memory.append((encode(p), a, r, encode(q), done))   # time limit is not a terminal state
    if done or t >= 40:
        returns.append(ret); p, t, ret = start(), 0, 0.0
    else:
        p = q

    if frame > 500 and frame % 2 == 0:
        s, a_, r_, s2, d = map(np.array, zip(*random.sample(memory, 64)))
        s, s2 = torch.from_numpy(s), torch.from_numpy(s2)
        a_, r_, d = torch.from_numpy(a_), torch.from_numpy(r_).float(), torch.from_numpy(d).float()
        with torch.no_grad():
            best = q_net(s2).argmax(1, keepdim=True)
            y = r_ + 0.95 * (1 - d) * target(s2).gather(1, best).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q_net(s).gather(1, a_.unsqueeze(1)).squeeze(1), y)
        opt.zero_grad(); loss.backward()
        for w in q_net.parameters():
            w.grad.clamp_(-1, 1)
        opt.step()
    if frame % 400 == 0:
        target.load_state_dict(q_net.state_dict())
    if frame % 1500 == 1499:
        print(f"frame {frame + 1} eps {eps:.2f} loss {loss.item():.5f} mean return (100 ep.) {np.mean(returns):+.3f}")

wins = 0
for _ in range(300):
    p = start()
    for _ in range(40):
        with torch.no_grad():
            p, r, done = step(p, int(q_net(torch.from_numpy(encode(p))).argmax()))
        if done:
            wins += r > 0
            break
print("greedy policy reaches the goal in %.1f %% of episodes" % (wins / 3))
