"""Click prediction on a stream, evaluated prequentially.

Every mini-batch that arrives is first scored with the current model (that is the number we
report) and only then used for an update.  Nothing is ever seen twice.  The click behaviour
drifts slowly, so the learning rate is constant and never decayed.
"""
import time
import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.metrics import roc_auc_score

SEED = 17
rng = np.random.default_rng(SEED)
D, BATCH, STEPS = 30, 64, 4000
w = rng.normal(size=D)
v = rng.normal(size=D)


def next_batch(t):
    global w
    w = w + 0.004 * rng.normal(size=D)            # drift
    X = rng.normal(size=(BATCH, D))
    logit = X @ w * 0.6 + 1.2 * np.abs(X @ v) / np.sqrt(D) * 2 - 3.0
    return X, (rng.random(BATCH) < 1 / (1 + np.exp(-logit))).astype(int)


mlp = MLPClassifier(hidden_layer_sizes=(48,), learning_rate_init=2e-3, alpha=1e-5,
                    random_state=SEED, batch_size=BATCH)
lin = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.01, random_state=SEED)
classes = np.array([0, 1])

window_y, window_m, window_l = [], [], []
t0 = time.time()
for t in range(STEPS):
    X, y = next_batch(t)
    if t > 0:
        window_y.append(y)
        window_m.append(mlp.predict_proba(X)[:, 1])
        window_l.append(lin.predict_proba(X)[:, 1])
    mlp.partial_fit(X, y, classes=classes)
    lin.partial_fit(X, y, classes=classes)
    if (t + 1) % 500 == 0:
        yy = np.concatenate(window_y[-500:])
        a = roc_auc_score(yy, np.concatenate(window_m[-500:]))
        b = roc_auc_score(yy, np.concatenate(window_l[-500:]))
        print(f"{t + 1:5d} batches | ctr {yy.mean():.3f} | AUC mlp {a:.4f} linear {b:.4f} | "
              f"loss {mlp.loss_:.4f} | {time.time() - t0:.1f}s")

yy = np.concatenate(window_y[-1000:])
print("prequential AUC, last 1000 batches:", round(roc_auc_score(yy, np.concatenate(window_m[-1000:])), 4))
