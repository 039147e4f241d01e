import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split

# Fraud-like table: 3% positives. What counts for us is average precision.
X, y = make_classification(n_samples=30000, n_features=25, n_informative=10, n_redundant=3, n_clusters_per_class=4,
                           weights=[0.97], flip_y=0.005, class_sep=0.9, random_state=22)
X_dev, X_test, y_dev, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=22)
X_train, X_val, y_train, y_val = train_test_split(X_dev, y_dev, test_size=0.2, stratify=y_dev, random_state=22)
dtrain, dval, dtest = xgb.DMatrix(X_train, y_train), xgb.DMatrix(X_val, y_val), xgb.DMatrix(X_test)


def avg_prec(margin, dmat):
    return "avg_prec", average_precision_score(dmat.get_label(), margin)


params = {
    "objective": "binary:logistic",
    "eta": 0.05,
    "max_depth": 6,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
    "lambda": 2.0,
    "nthread": 1,
    "seed": 22,
    "disable_default_eval_metric": 1,
}
booster = xgb.train(
    params, dtrain, num_boost_round=500,
    evals=[(dtrain, "train"), (dval, "val")],
    custom_metric=avg_prec,
    early_stopping_rounds=100,
    verbose_eval=25,
)
print("best round:", booster.best_iteration, " best val score:", booster.best_score)
p = booster.predict(dtest, iteration_range=(0, booster.best_iteration + 1))
print("test average precision: %.4f (prior %.4f)" % (average_precision_score(y_test, p), y_test.mean()))
