# LightGBM as a random forest on the wine / breast cancer / digits sets
import numpy as np
import lightgbm as lgb
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold

PARAMS = {
    "boosting": "rf",
    "objective": "multiclass",
    "learning_rate": 1.0,
    "bagging_fraction": 0.63,
    "bagging_freq": 1,
    "feature_fraction_bynode": 0.4,
    "num_leaves": 63,
    "min_data_in_leaf": 2,
    "max_depth": -1,
    "verbosity": -1,
    "num_threads": 1,
    "seed": 12,
}
ROUNDS = 60


def cross_validate(name, X, y):
    accs, losses = [], []
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    for fold, (tr, te) in enumerate(folds.split(X, y)):
        params = dict(PARAMS, num_class=int(y.max()) + 1)
        train = lgb.Dataset(X[tr], y[tr])
        test = lgb.Dataset(X[te], y[te], reference=train)
        history = {}
        model = lgb.train(params, train, num_boost_round=ROUNDS,
                          valid_sets=[train, test], valid_names=["train", "test"],
                          callbacks=[lgb.record_evaluation(history)])
        p = model.predict(X[te])
        accs.append(accuracy_score(y[te], p.argmax(1)))
        losses.append(log_loss(y[te], p / p.sum(1, keepdims=True)))
        curve = history["test"]["multi_logloss"]
        print(f"  {name} fold {fold}: logloss after 1/10/{ROUNDS} trees "
              f"{curve[0]:.3f}/{curve[9]:.3f}/{curve[-1]:.3f}")
    return np.mean(accs), np.std(accs), np.mean(losses)


results = {}
for name, loader in [("wine", load_wine), ("cancer", load_breast_cancer), ("digits", load_digits)]:
    X, y = loader(return_X_y=True)
    print(name, X.shape, "classes", len(np.unique(y)))
    results[name] = cross_validate(name, X, y)

print()
print(f"{'data':8s} {'accuracy':>10s} {'std':>7s} {'logloss':>8s}")
for name, (acc, std, ll) in results.items():
    print(f"{name:8s} {acc:10.4f} {std:7.4f} {ll:8.4f}")
