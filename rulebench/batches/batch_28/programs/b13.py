"""Prediction intervals for demand: three boosted models with a hand-written pinball objective."""
import numpy as np
import lightgbm as lgb

rng = np.random.default_rng(17)
n = 6000
X = np.column_stack([rng.uniform(0, 10, n), rng.integers(0, 7, n), rng.normal(size=n)])
scale = 0.3 + 0.15 * X[:, 0]
y = 5 * np.sin(X[:, 0]) + (X[:, 1] >= 5) * 3 + scale * rng.standard_gamma(2.0, n)
tr, te = slice(0, 4500), slice(4500, None)


def pinball_obj(alpha):
    def f(preds, data):
        r = data.get_label() - preds
        grad = np.where(r > 0, -alpha, 1 - alpha)
        hess = np.ones_like(grad)          # true second derivative is 0
        return grad, hess
    return f


def pinball(alpha):
    def f(preds, data):
        r = data.get_label() - preds
        return f"pinball_{alpha}", float(np.mean(np.maximum(alpha * r, (alpha - 1) * r))), False
    return f


preds = {}
for a in (0.05, 0.5, 0.95):
    start = np.quantile(y[tr], a)
    d = lgb.Dataset(X[tr], y[tr], init_score=np.full(4500, start), categorical_feature=[1])
    dv = lgb.Dataset(X[te], y[te], init_score=np.full(1500, start), reference=d)
    params = dict(objective=pinball_obj(a), learning_rate=0.3, num_leaves=15, min_data_in_leaf=40,
                  verbose=-1, num_threads=1, seed=0, bagging_fraction=0.8, bagging_freq=1)
    b = lgb.train(params, d, num_boost_round=400, valid_sets=[dv], valid_names=["late"],
                  feval=pinball(a), callbacks=[lgb.log_evaluation(100)])
    preds[a] = b.predict(X[te]) + start

yt = y[te]
for a, p in preds.items():
    base = np.quantile(y[tr], a)
    l = lambda q: np.mean(np.maximum(a * (yt - q), (a - 1) * (yt - q)))
    print(f"alpha {a}: share below {np.mean(yt < p):.3f}, pinball {l(p):.4f}, of a constant {l(base):.4f}")
print("coverage of the 90%% interval on unseen rows: %.3f" % np.mean((yt > preds[0.05]) & (yt < preds[0.95])))
