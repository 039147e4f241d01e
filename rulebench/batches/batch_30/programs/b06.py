# Click stream, seen once and in order. Predict first, then learn ("prequential").
# The taste of the users moves slowly, so old data must be forgotten: constant step, no decay.
import numpy as np
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import roc_auc_score

seed = 19
rng = np.random.default_rng(seed)
CITIES, ADS, HOURS = 12, 20, 24
city_w, ad_w = rng.normal(0, 0.8, CITIES), rng.normal(0, 0.8, ADS)
pair_w = rng.normal(0, 1.2, (CITIES, ADS))


def stream(n_chunks, size):
    global ad_w, pair_w
    for _ in range(n_chunks):
        ad_w = ad_w + rng.normal(0, 0.02, ADS)
        pair_w = pair_w + rng.normal(0, 0.02, (CITIES, ADS))
        c, a, h = rng.integers(0, CITIES, size), rng.integers(0, ADS, size), rng.integers(0, HOURS, size)
        logit = city_w[c] + ad_w[a] + pair_w[c, a] + 0.6 * np.sin(2 * np.pi * h / 24) - 0.8
        y = (rng.random(size) < 1 / (1 + np.exp(-logit))).astype(int)
        rows = [[f"c{i}", f"a{j}", f"h{k}", f"c{i}_a{j}"] for i, j, k in zip(c, a, h)]
        yield rows, y, logit


hasher = FeatureHasher(n_features=2 ** 12, input_type="string")
clf = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.08, alpha=1e-6, shuffle=False, random_state=seed)
all_p, all_y, all_ideal = [], [], []
for n, (rows, y, ideal) in enumerate(stream(2500, 150)):
    X = hasher.transform(rows)
    if n > 0:
        p = clf.predict_proba(X)[:, 1]
        all_p.append(p); all_y.append(y); all_ideal.append(ideal)
    clf.partial_fit(X, y, classes=[0, 1])
    if n % 500 == 499:
        w = slice(-80, None)
        print("chunk %3d  last-80 auc %.4f  |w| %.2f" % (
            n + 1, roc_auc_score(np.concatenate(all_y[w]), np.concatenate(all_p[w])), np.linalg.norm(clf.coef_)))
half = len(all_y) // 2
yy = np.concatenate(all_y[half:])
print("prequential AUC, second half: %.4f (best possible %.4f)" % (
    roc_auc_score(yy, np.concatenate(all_p[half:])), roc_auc_score(yy, np.concatenate(all_ideal[half:]))))
