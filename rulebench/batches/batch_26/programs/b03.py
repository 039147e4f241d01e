"""Online click prediction on a drifting stream (prequential evaluation).

Every mini batch is first scored, then learned; there is no fixed hold-out since the
world changes all the time. The learning rate stays constant for the same reason.
"""
import time
import numpy as np
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss, roc_auc_score

SEED = 2
rng = np.random.default_rng(SEED)
N_BATCH, B = 1500, 64
SITES, ADS, HOURS = 40, 60, 24

taste = rng.normal(0, 1.2, (SITES,))
appeal = rng.normal(0, 1.2, (ADS,))
cross = rng.normal(0, 1.0, (SITES, ADS))


def drift(k):
    """small random walk, and a sudden change of all ads in the middle"""
    global appeal
    appeal += rng.normal(0, 0.01, ADS)
    if k == N_BATCH // 2:
        print("   new campaign starts")
        appeal = rng.normal(0, 1.2, (ADS,))


def stream(k):
    s, a, h = rng.integers(0, SITES, B), rng.integers(0, ADS, B), rng.integers(0, HOURS, B)
    z = taste[s] + appeal[a] + cross[s, a] + 0.5 * np.sin(h / 24 * 6.28) - 1.0
    y = (rng.random(B) < 1 / (1 + np.exp(-z))).astype(int)
    rows = [[f"s{i}", f"a{j}", f"h{q}", f"s{i}a{j}"] for i, j, q in zip(s, a, h)]
    return rows, y


hasher = FeatureHasher(2 ** 14, input_type="string")
clf = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.08, alpha=1e-6, random_state=SEED)
clf.partial_fit(hasher.transform([["bias"]]), [0], classes=[0, 1])

P, Y = [], []
t0 = time.time()
for k in range(N_BATCH):
    drift(k)
    rows, y = stream(k)
    X = hasher.transform(rows)
    P.append(clf.predict_proba(X)[:, 1])
    Y.append(y)
    for _ in range(3):                # a few passes over the newest batch
        clf.partial_fit(X, y)
    if (k + 1) % 150 == 0:
        p, t = np.concatenate(P[-150:]), np.concatenate(Y[-150:])
        print(f"batches {k - 148:5d}-{k + 1:5d}  log loss {log_loss(t, p):.4f}  auc {roc_auc_score(t, p):.4f}")

p, t = np.concatenate(P[-300:]), np.concatenate(Y[-300:])
print(f"last 300 batches, scored before learning: auc {roc_auc_score(t, p):.4f} ({time.time() - t0:.1f}s)")
