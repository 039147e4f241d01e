"""DQN on CartPole (my port of the tutorial)."""
import random, collections, copy
import numpy as np, torch, torch.nn as nn
import gymnasium as gym
torch.manual_seed(1); random.seed(1); np.random.seed(1)
env = gym.make("CartPole-v1"); env.action_space.seed(1)
q = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
tq = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
mem = collections.deque(maxlen=10000)
GAMMA, STEPS = 0.98, 9000
s, _ = env.reset(seed=1)
ret, rets = 0., []
for t in range(STEPS):
    eps = max(0.05, 1 - t / 3000)
    if random.random() < eps:
        a = env.action_space.sample()
    else:
        with torch.no_grad(): a = int(q(torch.from_numpy(s)).argmax())
    s2, r, term, trunc, _ = env.step(a)
    mem.append((s, a, r, s2, float(term)))
    s, ret = s2, ret + r
    if term or trunc:
        rets.append(ret); ret = 0.; s, _ = env.reset()
    if t > 500:
        S, A, R, S2, done = map(np.array, zip(*random.sample(mem, 64)))
        S, S2 = torch.from_numpy(S), torch.from_numpy(S2)
        A = torch.from_numpy(A)[:, None]; R = torch.tensor(R, dtype=torch.float32)
        with torch.no_grad():
            target = R + GAMMA * tq(S2).max(1).values
        val = q(S).gather(1, A)[:, 0]
        loss = nn.functional.smooth_l1_loss(val, target)
        opt.zero_grad(); loss.backward()
        nn.utils.clip_grad_norm_(q.parameters(), 10.); opt.step()
        if t % 200 == 0: tq.load_state_dict(q.state_dict())
        if t % 1000 == 0: print(f"step {t} loss {loss.item():.4f} mean q {val.mean().item():.2f} last 10 returns {np.mean(rets[-10:]):.1f}")
tests = []
for k in range(10):
    s, _ = env.reset(seed=100 + k); tot = 0.; over = False
    while not over:
        with torch.no_grad(): a = int(q(torch.from_numpy(s)).argmax())
        s, r, te, tr, _ = env.step(a); tot += r; over = te or tr
    tests.append(tot)
print("greedy test return: %.1f" % np.mean(tests))
