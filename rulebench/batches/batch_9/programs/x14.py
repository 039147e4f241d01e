import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import train_test_split

X, y = make_classification(4000, 20, n_informative=8, n_classes=2, weights=[0.9], class_sep=0.8, flip_y=0.01,
                           random_state=31)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.25, stratify=y, random_state=31)
dtrain = xgb.DMatrix(X_train, label=y_train)
dval = xgb.DMatrix(X_val, label=y_val)

params = {
    "objective": "binary:logistic",
    "eval_metric": ["logloss", "error"],
    "max_depth": 4,
    "eta": 0.001,
    "subsample": 0.8,
    "nthread": 1,
    "seed": 31,
}
bst = xgb.train(params, dtrain, num_boost_round=150, evals=[(dtrain, "train"), (dval, "val")], verbose_eval=25)
p = (bst.predict(dval) > 0.5).astype(int)
print("accuracy", accuracy_score(y_val, p), "f1 of the rare class", f1_score(y_val, p), "predicted positives", p.sum(),
      "true positives in the set", y_val.sum())
