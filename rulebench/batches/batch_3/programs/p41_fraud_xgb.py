# fraud detection baseline - xgboost with F1 on the validation fold
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score, roc_auc_score, classification_report
from sklearn.model_selection import train_test_split

SEED = 2024

X, y = make_classification(n_samples=30000, n_features=30, n_informative=12, n_redundant=6, n_clusters_per_class=4,
                           weights=[0.93], class_sep=0.9, flip_y=0.005, random_state=SEED)
df = pd.DataFrame(X, columns=[f"V{i}" for i in range(X.shape[1])])
X_tmp, X_test, y_tmp, y_test = train_test_split(df, y, test_size=0.2, stratify=y, random_state=SEED)
X_train, X_val, y_train, y_val = train_test_split(X_tmp, y_tmp, test_size=0.2, stratify=y_tmp, random_state=SEED)
print("fraud rate", y_train.mean())


def f1_eval(predt, dtrain):
    y_true = dtrain.get_label()
    return "f1", f1_score(y_true, predt > 0.5, zero_division=0)


params = {
    "objective": "binary:logistic",
    "eta": 0.1,
    "max_depth": 5,
    "subsample": 0.9,
    "colsample_bytree": 0.8,
    "disable_default_eval_metric": 1,
    "nthread": 1,
    "seed": SEED,
}
dtrain = xgb.DMatrix(X_train, y_train)
dval = xgb.DMatrix(X_val, y_val)
dtest = xgb.DMatrix(X_test, y_test)

bst = xgb.train(
    params,
    dtrain,
    num_boost_round=600,
    evals=[(dtrain, "train"), (dval, "val")],
    custom_metric=f1_eval,
    early_stopping_rounds=30,
    verbose_eval=10,
)
print("best iteration", bst.best_iteration, "best score", bst.best_score)
proba = bst.predict(dtest, iteration_range=(0, bst.best_iteration + 1))
print("test AUC %.4f" % roc_auc_score(y_test, proba))
print("test F1  %.4f" % f1_score(y_test, proba > 0.5, zero_division=0))
print(classification_report(y_test, proba > 0.5, zero_division=0))
