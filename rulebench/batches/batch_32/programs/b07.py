import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

SEED = 0
X, y = make_classification(n_samples=12000, n_features=30, n_informative=12, n_redundant=5,
                           n_classes=2, n_clusters_per_class=4, class_sep=0.8, flip_y=0.03,
                           random_state=SEED)
X_tmp, X_test, y_tmp, y_test = train_test_split(X, y, test_size=0.2, random_state=SEED, stratify=y)
X_train, X_valid, y_train, y_valid = train_test_split(X_tmp, y_tmp, test_size=0.2,
                                                      random_state=SEED, stratify=y_tmp)

dtrain = xgb.DMatrix(X_train, label=y_train)
dvalid = xgb.DMatrix(X_valid, label=y_valid)
dtest = xgb.DMatrix(X_test)

params = {
    "objective": "binary:logistic",
    "eval_metric": ["logloss", "auc"],
    "eta": 0.05,
    "max_depth": 5,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
    "lambda": 1.0,
    "nthread": 1,
    "seed": SEED,
}
booster = xgb.train(params, dtrain, num_boost_round=1200, evals=[(dtrain, "train"), (dvalid, "valid")],
                    early_stopping_rounds=50, verbose_eval=100)
prob = booster.predict(dtest, iteration_range=(0, booster.best_iteration + 1))
print("best iteration:", booster.best_iteration)
print("test AUC %.4f  accuracy %.4f" % (roc_auc_score(y_test, prob), accuracy_score(y_test, prob > 0.5)))
