"""DQN on a small maze, with replay buffer and a periodically copied target network."""
import random
from collections import deque
import numpy as np
import torch
import torch.nn as nn

SEED = 14
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)
torch.set_num_threads(1)
MAZE = ["S..#....",
        ".#.#.##.",
        ".#...#..",
        ".####.#.",
        "......#G"]
H, W = len(MAZE), len(MAZE[0])
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]
GOAL = (4, 7)
free = [(r, c) for r in range(H) for c in range(W) if MAZE[r][c] != "#" and (r, c) != GOAL]


def move(pos, a):
    r, c = pos[0] + MOVES[a][0], pos[1] + MOVES[a][1]
    if not (0 <= r < H and 0 <= c < W) or MAZE[r][c] == "#":
        return pos, -0.1, False
    if (r, c) == GOAL:
        return (r, c), 10.0, True
    return (r, c), -0.05, False


def enc(p):
    v = np.zeros(H * W, "float32")
    v[p[0] * W + p[1]] = 1
    return v


def make():
    return nn.Sequential(nn.Linear(H * W, 96), nn.ReLU(), nn.Linear(96, 4))


q, q_target = make(), make()
q_target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
buf = deque(maxlen=20000)
GAMMA, SYNC, EPS_END = 0.97, 150, 0.3


def test():
    steps, solved = [], 0
    for s in free:
        p = s
        for t in range(60):
            with torch.no_grad():
                p, _, done = move(p, q(torch.from_numpy(enc(p))).argmax().item())
            if done:
                solved += 1
                steps.append(t + 1)
                break
    return solved / len(free), float(np.mean(steps)) if steps else 60.0


pos, t_ep = random.choice(free), 0
for step in range(1, 24001):
    eps = max(EPS_END, 1 - step / 8000)
    if random.random() < eps:
        a = random.randrange(4)
    else:
        with torch.no_grad():
            a = q(torch.from_numpy(enc(pos))).argmax().item()
    nxt, r, done = move(pos, a)
    buf.append((enc(pos), a, r, enc(nxt), float(done)))
    pos, t_ep = nxt, t_ep + 1
    if done or t_ep >= 80:
        pos, t_ep = random.choice(free), 0
    if step > 500 and step % 2 == 0:
        s, a_, r_, s2, d = (torch.as_tensor(np.array(z)) for z in zip(*random.sample(buf, 64)))
        with torch.no_grad():
            target = r_.float() + GAMMA * (1 - d.float()) * q_target(s2).max(1).values
        val = q(s).gather(1, a_[:, None]).squeeze(1)
        loss = nn.functional.mse_loss(val, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if step % SYNC == 0:
        q_target.load_state_dict(q.state_dict())
    if step % 2000 == 0:
        print(f"step {step} eps {eps:.2f} td loss {loss.item():.4f} mean Q {val.mean().item():.3f}", "solved %.2f, steps %.1f" % test())
print("share of start cells from which the goal is reached: %.3f, mean path %.2f" % test())
