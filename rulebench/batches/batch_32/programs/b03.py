# DQN: keep a ball on top of a hill (unstable 1-D system), +1 for every step on the hill
import copy, random
import numpy as np
import torch
import torch.nn as nn

SEED = 1
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)
torch.set_num_threads(1)
GAMMA, MAX_T, DT = 0.97, 150, 0.05


class BallOnHill:
    pushes = (-3.0, 0.0, 3.0)

    def reset(self):
        self.x, self.v = np.random.uniform(-0.4, 0.4), np.random.uniform(-0.4, 0.4)
        self.t = 0
        return self.obs()

    def obs(self):
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, a):
        self.t += 1
        acc = 4.0 * self.x + self.pushes[a] + np.random.normal(0, 1.0)
        self.v += DT * acc
        self.x += DT * self.v
        return self.obs(), 1.0, abs(self.x) > 1.0

    @property
    def timeout(self):
        return self.t >= MAX_T


def make_q():
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))


q = make_q()
q_target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), 1e-3)
buf, CAP = [], 10000
env = BallOnHill()
s = env.reset()
returns, ep_ret = [], 0.0

for it in range(12000):
    eps = max(0.1, 1 - it / 5000)
    if random.random() < eps:
        a = random.randrange(3)
    else:
        with torch.no_grad():
            a = q(torch.from_numpy(s)).argmax().item()
    s2, r, done = env.step(a)
    ep_ret += r
    buf.append((s, a, r, s2, float(done)))
    if len(buf) > CAP:
        buf.pop(0)
    s = s2
    if done or env.timeout:
        returns.append(ep_ret); ep_ret = 0.0
        s = env.reset()

    if it > 500 and it % 2 == 0:
        b = random.sample(buf, 64)
        bs = torch.from_numpy(np.stack([x[0] for x in b]))
        ba = torch.tensor([x[1] for x in b])
        br = torch.tensor([x[2] for x in b])
        bs2 = torch.from_numpy(np.stack([x[3] for x in b]))
        bd = torch.tensor([x[4] for x in b])
        with torch.no_grad():
            target = br + GAMMA * q_target(bs2).max(1).values
        pred = q(bs).gather(1, ba[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(pred, target)
        opt.zero_grad(); loss.backward(); opt.step()
    if it % 200 == 0:
        q_target.load_state_dict(q.state_dict())
    if it % 1000 == 0 and it > 500:
        print(f"it {it} eps {eps:.2f} loss {loss.item():.4f} q_mean {pred.mean().item():.3f} "
              f"return(last 20) {np.mean(returns[-20:]):.1f}")

# greedy evaluation
scores = []
for _ in range(50):
    o, tot = env.reset(), 0.0
    while True:
        with torch.no_grad():
            o, r, done = env.step(q(torch.from_numpy(o)).argmax().item())
        tot += r
        if done or env.timeout:
            break
    scores.append(tot)
print("greedy return over 50 episodes: %.1f (max %d)" % (np.mean(scores), MAX_T))
