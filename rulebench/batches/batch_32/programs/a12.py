import math, random, collections
import numpy as np
import torch, torch.nn as nn, torch.nn.functional as F

# DQN on a hand-written cart-pole (physics copied from the classic gym task)
SEED = 12
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)
torch.set_num_threads(1)


class CartPole:
    def reset(self):
        self.s = np.random.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.copy()

    def step(self, a):
        x, xd, th, thd = self.s
        f = 10.0 if a == 1 else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (f + 0.05 * thd ** 2 * s) / 1.1
        tha = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        xa = tmp - 0.05 * tha * c / 1.1
        self.s = self.s + 0.02 * np.array([xd, xa, thd, tha])
        self.t += 1
        fell = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095
        return self.s.copy(), 1.0, fell, self.t >= 200


def mlp():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


q, target = mlp(), mlp()
target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
buf = collections.deque(maxlen=20000)
GAMMA, BATCH, TOTAL = 0.98, 64, 14000
env = CartPole()
s, ret, rets = env.reset(), 0.0, []

for step in range(TOTAL):
    eps = max(0.05, 1 - step / 4000)
    with torch.no_grad():
        a = random.randrange(2) if random.random() < eps else int(q(torch.tensor(s, dtype=torch.float32)).argmax())
    s2, r, fell, timeout = env.step(a)
    buf.append((s, a, r, s2, float(fell)))
    ret += r
    s = s2
    if fell or timeout:
        rets.append(ret)
        s, ret = env.reset(), 0.0
    if len(buf) >= 1000:
        S, A, R, S2, D = zip(*random.sample(buf, BATCH))
        S = torch.tensor(np.array(S), dtype=torch.float32)
        S2 = torch.tensor(np.array(S2), dtype=torch.float32)
        A, R, D = torch.tensor(A), torch.tensor(R), torch.tensor(D)
        with torch.no_grad():
            y = R + GAMMA * target(S2).max(1).values
        qa = q(S).gather(1, A[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(qa, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(q.parameters(), 10.0)
        opt.step()
        if step % 250 == 0:
            target.load_state_dict(q.state_dict())
        if step % 1000 == 0:
            print(f"step {step} loss {loss.item():.4f} mean q {qa.mean().item():.2f} "
                  f"last returns {np.mean(rets[-10:]):.1f}")

scores = []
for _ in range(20):
    s, tot, end = env.reset(), 0.0, False
    while not end:
        with torch.no_grad():
            s, r, fell, timeout = env.step(int(q(torch.tensor(s, dtype=torch.float32)).argmax()))
        tot += r
        end = fell or timeout
    scores.append(tot)
print("greedy policy, mean return over 20 episodes:", np.mean(scores))
