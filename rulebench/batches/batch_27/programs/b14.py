# Kaggle "claims" baseline, XGBoost native API
import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

SEED = 77
X, y = make_classification(n_samples=9000, n_features=30, n_informative=8, n_redundant=6, n_repeated=0,
                           n_clusters_per_class=4, flip_y=0.2, class_sep=0.8, random_state=SEED)
rng = np.random.default_rng(SEED)
X[rng.random(X.shape) < 0.05] = np.nan          # some missing values, as in the real file

X_dev, X_test, y_dev, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=SEED)
X_tr, X_va, y_tr, y_va = train_test_split(X_dev, y_dev, test_size=0.25, stratify=y_dev, random_state=SEED)

dtrain = xgb.DMatrix(X_tr, label=y_tr)
dvalid = xgb.DMatrix(X_va, label=y_va)
dtest = xgb.DMatrix(X_test, label=y_test)

params = {
    "objective": "binary:logistic",
    "eval_metric": "logloss",
    "eta": 0.08,
    "max_depth": 5,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
    "min_child_weight": 2,
    "nthread": 1,
    "seed": SEED,
}
watchlist = [(dvalid, "valid"), (dtrain, "train")]
booster = xgb.train(params, dtrain, num_boost_round=1500, evals=watchlist,
                    early_stopping_rounds=40, verbose_eval=100)
print("best iteration:", booster.best_iteration, " best score:", booster.best_score)

p = booster.predict(dtest, iteration_range=(0, booster.best_iteration + 1))
print("test AUC      %.4f" % roc_auc_score(y_test, p))
print("test log loss %.4f" % log_loss(y_test, p))
