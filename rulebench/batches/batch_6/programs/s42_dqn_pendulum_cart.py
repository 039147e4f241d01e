# DQN on a hand written cart-pole
import math, random
from collections import deque
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

random.seed(1); np.random.seed(1); torch.manual_seed(1)


class CartPole:
    def __init__(self):
        self.state = np.zeros(4, dtype=np.float32)

    def reset(self):
        self.state[:] = np.random.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.state

    def step(self, action):
        x, xd, th, thd = (float(v) for v in self.state)
        f = 10.0 if action == 1 else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (f + 0.05 * thd * thd * s) / 1.1
        tha = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        xa = tmp - 0.05 * tha * c / 1.1
        self.state[:] = (x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * tha)
        self.t += 1
        fail = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21
        return self.state, 1.0, fail, self.t >= 200


def mlp():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


q, target = mlp(), mlp()
target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
buffer = deque(maxlen=10000)
env = CartPole()
gamma, steps, scores = 0.98, 0, []
episode = 0
while steps < 6000:
    s = env.reset()
    done = trunc = False
    while not (done or trunc):
        eps = max(0.05, 1.0 - steps / 2000)
        if random.random() < eps:
            a = random.randint(0, 1)
        else:
            with torch.no_grad():
                a = int(q(torch.as_tensor(s)).argmax())
        s2, r, done, trunc = env.step(a)
        buffer.append((s, a, r, s2, float(done)))
        s = s2
        steps += 1
        if len(buffer) >= 500 and steps % 2 == 0:
            S, A, R, S2, D = zip(*random.sample(buffer, 64))
            S, S2 = torch.from_numpy(np.stack(S)), torch.from_numpy(np.stack(S2))
            A, R, D = torch.tensor(A), torch.tensor(R), torch.tensor(D)
            with torch.no_grad():
                tgt = R + gamma * (1 - D) * target(S2).max(1).values
            loss = F.smooth_l1_loss(q(S).gather(1, A[:, None]).squeeze(1), tgt)
            opt.zero_grad(); loss.backward(); opt.step()
        if steps % 200 == 0:
            target.load_state_dict(q.state_dict())
    scores.append(env.t)
    episode += 1
    if episode % 20 == 0:
        print(f"episode {episode} steps {steps} mean length (last 20) {np.mean(scores[-20:]):.1f}")
print("mean length of last 10 episodes: %.1f" % np.mean(scores[-10:]))
