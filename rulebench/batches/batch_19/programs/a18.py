import numpy as np
import lightgbm as lgb
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold

SEED = 67

X, y = load_digits(return_X_y=True)
print("digits", X.shape)

# Random forest mode of LightGBM as a strong baseline before boosting.
params = {
    "objective": "multiclass",
    "num_class": 10,
    "metric": ["multi_logloss", "multi_error"],
    "boosting": "rf",
    "bagging_freq": 1,
    "bagging_fraction": 0.632,
    "feature_fraction_bynode": 0.25,
    "num_leaves": 63,
    "min_data_in_leaf": 2,
    "learning_rate": 1.0,
    "seed": SEED,
    "num_threads": 1,
    "verbosity": -1,
}
ROUNDS = 60

folds = StratifiedKFold(n_splits=3, shuffle=True, random_state=SEED)
oof = np.zeros((len(y), 10))
scores = []
for k, (tr, te) in enumerate(folds.split(X, y)):
    dtrain = lgb.Dataset(X[tr], y[tr])
    dvalid = lgb.Dataset(X[te], y[te], reference=dtrain)
    record = {}
    booster = lgb.train(
        params,
        dtrain,
        num_boost_round=ROUNDS,
        valid_sets=[dvalid],
        valid_names=["fold"],
        callbacks=[lgb.record_evaluation(record), lgb.log_evaluation(20)],
    )
    oof[te] = booster.predict(X[te])
    acc = accuracy_score(y[te], oof[te].argmax(1))
    scores.append(acc)
    line = record["fold"]["multi_error"]
    print(f"fold {k}: accuracy {acc:.4f}  error after 1/10/{ROUNDS} trees "
          f"{line[0]:.3f} {line[9]:.3f} {line[-1]:.3f}")

print(f"mean accuracy {np.mean(scores):.4f} +- {np.std(scores):.4f}")
print(f"out-of-fold log loss {log_loss(y, oof):.4f}")
conf = np.zeros((10, 10), dtype=int)
np.add.at(conf, (y, oof.argmax(1)), 1)
print("recall per digit", (conf.diagonal() / conf.sum(1)).round(3))

single = LogisticRegression(max_iter=300).fit(X[tr] / 16.0, y[tr])
print(f"logistic regression on the last fold {single.score(X[te] / 16.0, y[te]):.4f}")
