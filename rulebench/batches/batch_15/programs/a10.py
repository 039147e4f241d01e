import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import train_test_split

# churn-like data, rare positives; watch F1 on the validation part
X, y = make_classification(n_samples=30000, n_features=25, n_informative=10,
                           weights=[0.88], class_sep=0.8, flip_y=0.02, random_state=17)
X_tr, X_tmp, y_tr, y_tmp = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
X_va, X_te, y_va, y_te = train_test_split(X_tmp, y_tmp, test_size=0.5, stratify=y_tmp, random_state=0)

dtr = xgb.DMatrix(X_tr, label=y_tr)
dva = xgb.DMatrix(X_va, label=y_va)
dte = xgb.DMatrix(X_te, label=y_te)


def f1_at_half(prob, dmat):
    return "f1", f1_score(dmat.get_label(), prob > 0.5, zero_division=0)


params = {
    "objective": "binary:logistic",
    "eta": 0.08,
    "max_depth": 5,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
    "disable_default_eval_metric": 1,
    "nthread": 1,
    "seed": 3,
}
evals_result = {}
bst = xgb.train(params, dtr, num_boost_round=500,
                evals=[(dtr, "train"), (dva, "valid")],
                custom_metric=f1_at_half,
                early_stopping_rounds=80,
                evals_result=evals_result,
                verbose_eval=10)

prob = bst.predict(dte, iteration_range=(0, bst.best_iteration + 1))
print("best iteration", bst.best_iteration, "best score", bst.best_score)
print("test F1  %.4f" % f1_score(y_te, prob > 0.5))
print("test AUC %.4f" % roc_auc_score(y_te, prob))
