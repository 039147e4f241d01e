# Online learning on a drifting stream, one example at a time, predict first then learn
# (prequential evaluation), next to a model frozen after the first part of the stream.
import numpy as np
from sklearn.linear_model import SGDClassifier

SEED = 0
rng = np.random.default_rng(SEED)
N, D = 20000, 8
w = rng.normal(size=D)
w /= np.linalg.norm(w)
other = rng.normal(size=D)
other -= other @ w * w
other /= np.linalg.norm(other)


def concept(t):
    """the true direction turns slowly by 1.5 * pi over the stream"""
    a = 1.5 * np.pi * t / N
    return np.cos(a) * w + np.sin(a) * other


online = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.05, alpha=1e-4,
                       random_state=SEED)
frozen = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.05, alpha=1e-4,
                       random_state=SEED)
hits_online, hits_frozen = [], []
for t in range(N):
    x = rng.normal(size=(1, D))
    y = np.array([int(x[0] @ concept(t) + 0.1 * rng.normal() > 0)])
    if t > 0:
        hits_online.append(online.predict(x)[0] == y[0])
        hits_frozen.append(frozen.predict(x)[0] == y[0])
    online.partial_fit(x, y, classes=[0, 1])
    if t < N // 10:
        frozen.partial_fit(x, y, classes=[0, 1])
    if (t + 1) % 2500 == 0:
        print(f"{t + 1:6d}  online {np.mean(hits_online[-2500:]):.3f}   frozen {np.mean(hits_frozen[-2500:]):.3f}")

print("prequential accuracy over the whole stream: %.4f (frozen %.4f)"
      % (np.mean(hits_online), np.mean(hits_frozen)))
