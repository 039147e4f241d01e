import numpy as np
import xgboost as xgb
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

X, y = make_friedman1(n_samples=2500, n_features=12, noise=1.0, random_state=303)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=1)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, test_size=0.2, random_state=1)
dtr, dva, dte = xgb.DMatrix(X_tr, y_tr), xgb.DMatrix(X_va, y_va), xgb.DMatrix(X_te, y_te)

# ranges of each feature in the monotone direction we know from physics: x3 and x4 only increase y
params = {"objective": "reg:squarederror", "eta": 0.05, "max_depth": 4, "subsample": 0.7, "colsample_bytree": 0.8,
          "min_child_weight": 5, "lambda": 2.0, "monotone_constraints": "(0,0,0,1,1,0,0,0,0,0,0,0)",
          "nthread": 1, "seed": 3, "eval_metric": "rmse"}
log = {}
bst = xgb.train(params, dtr, num_boost_round=1500, evals=[(dtr, "train"), (dva, "valid")],
                early_stopping_rounds=40, evals_result=log, verbose_eval=50)
print("best iteration", bst.best_iteration, "valid rmse", bst.best_score)
pred = bst.predict(dte, iteration_range=(0, bst.best_iteration + 1))
print("test R2", r2_score(y_te, pred))
