# Fraud scoring with XGBoost and a cost-weighted objective.
import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split

MISS_COST = 4.0
SEED = 12

X, y = make_classification(
    n_samples=24000, n_features=18, n_informative=8, n_redundant=3,
    weights=[0.88], class_sep=1.1, flip_y=0.01, random_state=SEED)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.4, stratify=y, random_state=SEED)
X_valid, X_test, y_valid, y_test = train_test_split(X_rest, y_rest, test_size=0.5, stratify=y_rest,
                                                    random_state=SEED)


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def weighted_logloss(margin, dmat):
    """Log-loss in which a missed fraud costs MISS_COST times a false alarm."""
    label = dmat.get_label()
    weight = np.where(label == 1, MISS_COST, 1.0)
    p = sigmoid(margin)
    grad = weight * (label - p)
    hess = weight * p * (1.0 - p)
    return grad, np.maximum(hess, 1e-6)


def weighted_logloss_metric(margin, dmat):
    label = dmat.get_label()
    weight = np.where(label == 1, MISS_COST, 1.0)
    p = np.clip(sigmoid(margin), 1e-7, 1 - 1e-7)
    value = -weight * (label * np.log(p) + (1 - label) * np.log(1 - p))
    return "wlogloss", float(value.sum() / weight.sum())


dtrain = xgb.DMatrix(X_train, label=y_train)
dvalid = xgb.DMatrix(X_valid, label=y_valid)
dtest = xgb.DMatrix(X_test, label=y_test)

params = {
    "max_depth": 5,
    "eta": 0.1,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
    "lambda": 1.0,
    "base_score": 0.0,
    "disable_default_eval_metric": True,
    "seed": SEED,
    "nthread": 1,
}
history = {}
booster = xgb.train(
    params, dtrain, num_boost_round=300,
    obj=weighted_logloss,
    custom_metric=weighted_logloss_metric,
    evals=[(dtrain, "train"), (dvalid, "valid")],
    evals_result=history,
    verbose_eval=25,
)

score = sigmoid(booster.predict(dtest, output_margin=True))
alarm = score > 0.5
cost = MISS_COST * ((~alarm) & (y_test == 1)).sum() + (alarm & (y_test == 0)).sum()
print(f"valid weighted logloss {history['valid']['wlogloss'][-1]:.4f}")
print(f"test AUC {roc_auc_score(y_test, score):.4f}")
print(f"test average precision {average_precision_score(y_test, score):.4f}")
print(f"cost {cost:.0f}, without any alarm {MISS_COST * y_test.sum():.0f}")
