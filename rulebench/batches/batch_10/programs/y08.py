import numpy as np
import xgboost as xgb
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from sklearn.metrics import r2_score, mean_squared_error

X, y = make_friedman1(n_samples=3000, n_features=10, noise=1.0, random_state=2)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=2)
dtrain = xgb.DMatrix(X_train, label=y_train)
dtest = xgb.DMatrix(X_test, label=y_test)
params = {
    "objective": "reg:squarederror",
    "eta": 0.0005,
    "max_depth": 4,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
    "eval_metric": "rmse",
    "nthread": 1,
    "seed": 2,
}
bst = xgb.train(params, dtrain, num_boost_round=400,
                evals=[(dtrain, "train"), (dtest, "test")], verbose_eval=40)
pred = bst.predict(dtest)
print("R2", r2_score(y_test, pred), "RMSE", mean_squared_error(y_test, pred) ** 0.5)
print("pred range", pred.min(), pred.max(), " y range", y_test.min(), y_test.max())
