import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

seed = 10
X, y = make_classification(n_samples=14000, n_features=25, n_informative=12, n_redundant=5, n_classes=3,
                           n_clusters_per_class=3, class_sep=1.2, random_state=seed)
X_dev, X_test, y_dev, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
X_train, X_val, y_train, y_val = train_test_split(X_dev, y_dev, test_size=0.2, stratify=y_dev, random_state=0)

dtrain = xgb.DMatrix(X_train, label=y_train)
dval = xgb.DMatrix(X_val, label=y_val)
dtest = xgb.DMatrix(X_test, label=y_test)

params = {
    "objective": "multi:softprob",
    "num_class": 3,
    "eta": 0.07,
    "max_depth": 5,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
    "eval_metric": "mlogloss",
    "nthread": 1,
    "seed": 10,
}
history = {}
bst = xgb.train(params, dtrain, num_boost_round=400, evals=[(dtrain, "train"), (dval, "val")],
                early_stopping_rounds=25, evals_result=history, verbose_eval=40)

proba = bst.predict(dtest, iteration_range=(0, bst.best_iteration + 1))
print("best iteration", bst.best_iteration, "val mlogloss %.4f" % bst.best_score)
print("test mlogloss %.4f" % log_loss(y_test, proba))
print("test accuracy %.4f" % accuracy_score(y_test, np.argmax(proba, axis=1)))
