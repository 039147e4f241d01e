# Random forest mode of LightGBM on the breast cancer data plus a boosted reference.
import lightgbm as lgb
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

SEED = 17
data = load_breast_cancer()
X, y = data.data, data.target
print("samples:", X.shape, "positive share: %.3f" % y.mean())

rf_params = {
    "boosting": "rf",
    "objective": "binary",
    "metric": "binary_logloss",
    "learning_rate": 1.0,
    "bagging_freq": 1,
    "bagging_fraction": 0.632,
    "feature_fraction_bynode": 0.4,
    "num_leaves": 31,
    "min_data_in_leaf": 3,
    "num_threads": 1,
    "verbosity": -1,
    "seed": SEED,
}
gbdt_params = {
    "boosting": "gbdt",
    "objective": "binary",
    "metric": "binary_logloss",
    "learning_rate": 0.06,
    "num_leaves": 15,
    "min_data_in_leaf": 10,
    "feature_fraction": 0.6,
    "num_threads": 1,
    "verbosity": -1,
    "seed": SEED,
}


def cross_validate(params, rounds, name):
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    oof = np.zeros(len(y))
    for k, (tr, va) in enumerate(folds.split(X, y)):
        train_set = lgb.Dataset(X[tr], y[tr], feature_name=list(data.feature_names))
        valid_set = train_set.create_valid(X[va], y[va])
        booster = lgb.train(params, train_set, num_boost_round=rounds,
                            valid_sets=[train_set, valid_set], valid_names=["train", "valid"],
                            callbacks=[lgb.log_evaluation(50)])
        oof[va] = booster.predict(X[va])
        print(f"{name} fold {k}: auc {roc_auc_score(y[va], oof[va]):.4f}")
    print(f"{name}: auc {roc_auc_score(y, oof):.4f}  logloss {log_loss(y, oof):.4f}  "
          f"accuracy {accuracy_score(y, oof > 0.5):.4f}")
    return oof, booster


rf_oof, rf = cross_validate(rf_params, 700, "forest")
gb_oof, gb = cross_validate(gbdt_params, 110, "gbdt")
blend = 0.5 * rf_oof + 0.5 * gb_oof
print(f"blend: auc {roc_auc_score(y, blend):.4f}  accuracy {accuracy_score(y, blend > 0.5):.4f}")

order = np.argsort(rf.feature_importance("gain"))[::-1][:5]
print("top features:", [str(data.feature_names[i]) for i in order])
