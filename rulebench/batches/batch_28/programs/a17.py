# Churn model, only 5 % positives. xgboost + random oversampling of the minority class.
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import train_test_split

SEED = 2024
X, y = make_classification(n_samples=18000, n_features=25, n_informative=6, n_redundant=2, weights=[0.95],
                           class_sep=0.6, flip_y=0.03, n_clusters_per_class=3, random_state=SEED)
df = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
df["churn"] = y

print(df.churn.value_counts(normalize=True).round(3).to_dict())


def oversample(d):
    pos, neg = d[d.churn == 1], d[d.churn == 0]
    extra = pos.sample(len(neg), replace=True, random_state=SEED)
    return pd.concat([neg, extra]).sample(frac=1, random_state=SEED)


balanced = oversample(df)
train, test = train_test_split(balanced, test_size=0.25, random_state=SEED, stratify=balanced.churn)

feat = [c for c in df.columns if c != "churn"]
dtrain = xgb.DMatrix(train[feat], train.churn)
dtest = xgb.DMatrix(test[feat], test.churn)
params = {"objective": "binary:logistic", "eval_metric": ["logloss", "auc"], "eta": 0.1, "max_depth": 6,
          "subsample": 0.8, "nthread": 1, "seed": SEED}
bst = xgb.train(params, dtrain, num_boost_round=500, evals=[(dtrain, "train"), (dtest, "test")], verbose_eval=100,
                early_stopping_rounds=50)

p = bst.predict(dtest, iteration_range=(0, bst.best_iteration + 1))
print("AUC  %.4f" % roc_auc_score(test.churn, p))
print("F1   %.4f" % f1_score(test.churn, p > 0.5))
