# Online learning on a drifting stream: predict first, then learn from the same batch (prequential).
import numpy as np
from sklearn.linear_model import SGDClassifier
SEED = 6
rng = np.random.default_rng(SEED)
D, STEPS, B = 12, 3000, 20
w = rng.normal(size=D)
rot = np.linalg.qr(np.eye(D) + 0.02 * rng.normal(size=(D, D)))[0]
rot *= np.sign(np.diag(rot))
online = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.05, alpha=1e-5, random_state=SEED)
frozen = SGDClassifier(loss="log_loss", alpha=1e-4, random_state=SEED)
hits, hits_frozen, seenX, seenY = [], [], [], []
for t in range(STEPS):
    if t % 10 == 0:
        w = rot @ w
    X = rng.normal(size=(B, D))
    y = (X @ w + 0.3 * rng.normal(size=B) > 0).astype(int)
    if t > 0:
        hits.append((online.predict(X) == y).mean())
    online.partial_fit(X, y, classes=[0, 1])
    if t < 300:
        seenX.append(X); seenY.append(y)
    if t == 300:
        frozen.fit(np.concatenate(seenX), np.concatenate(seenY))
    if t > 300:
        hits_frozen.append((frozen.predict(X) == y).mean())
    if t % 300 == 299:
        print(f"t={t+1} online, last 300: {np.mean(hits[-300:]):.3f}")
print(f"prequential accuracy: online {np.mean(hits[300:]):.4f}, model frozen at t=300 {np.mean(hits_frozen):.4f}")
