# churn style problem, lightgbm native api with our own validation metric
import numpy as np
import lightgbm as lgb
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split

SEED = 2024

X, y = make_classification(n_samples=40000, n_features=30, n_informative=14, n_redundant=6, n_clusters_per_class=5,
                           weights=[0.88], class_sep=0.9, flip_y=0.01, random_state=SEED)
X_tr, X_tmp, y_tr, y_tmp = train_test_split(X, y, test_size=0.4, stratify=y, random_state=SEED)
X_va, X_te, y_va, y_te = train_test_split(X_tmp, y_tmp, test_size=0.5, stratify=y_tmp, random_state=SEED)
print("positive rate", y_tr.mean().round(3), y_va.mean().round(3), y_te.mean().round(3))


def pr_auc(preds, data):
    return "pr_auc", average_precision_score(data.get_label(), preds), False


params = dict(
    objective="binary",
    metric="None",
    learning_rate=0.05,
    num_leaves=31,
    feature_fraction=0.8,
    bagging_fraction=0.8,
    bagging_freq=1,
    min_data_in_leaf=20,
    verbosity=-1,
    num_threads=1,
    seed=SEED,
)
dtrain = lgb.Dataset(X_tr, y_tr)
dvalid = lgb.Dataset(X_va, y_va, reference=dtrain)

booster = lgb.train(
    params,
    dtrain,
    num_boost_round=600,
    valid_sets=[dtrain, dvalid],
    valid_names=["train", "valid"],
    feval=pr_auc,
    callbacks=[lgb.early_stopping(60, first_metric_only=True), lgb.log_evaluation(20)],
)
print("best iteration", booster.best_iteration)
p = booster.predict(X_te, num_iteration=booster.best_iteration)
print("test PR-AUC %.4f  ROC-AUC %.4f" % (average_precision_score(y_te, p), roc_auc_score(y_te, p)))
print("predictions: min %.4f mean %.4f max %.4f" % (p.min(), p.mean(), p.max()))
imp = booster.feature_importance("gain")
print("top features", np.argsort(-imp)[:8])
