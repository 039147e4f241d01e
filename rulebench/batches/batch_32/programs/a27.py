import lightgbm as lgb
import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.datasets import make_classification

# Kaggle-like: fraud detection scored by F1
SEED = 27
X, y = make_classification(n_samples=20000, n_features=40, n_informative=15, n_clusters_per_class=4,
                           weights=[0.85], class_sep=0.8, flip_y=0.02, random_state=SEED)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, stratify=y, random_state=SEED)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, test_size=0.2, stratify=y_tr, random_state=SEED)


def lgb_f1(preds, data):
    t = data.get_label()
    return "f1", f1_score(t, preds > 0.3), False


params = dict(objective="binary", metric="None", learning_rate=0.03, num_leaves=31, feature_fraction=0.8,
              bagging_fraction=0.8, bagging_freq=1, num_threads=1, seed=SEED, verbose=-1)
train_set = lgb.Dataset(X_tr, y_tr)
valid_set = lgb.Dataset(X_va, y_va, reference=train_set)
gbm = lgb.train(params, train_set, num_boost_round=700, valid_sets=[valid_set], feval=lgb_f1,
                callbacks=[lgb.early_stopping(150), lgb.log_evaluation(25)])

print("best iteration", gbm.best_iteration)
p = gbm.predict(X_te, num_iteration=gbm.best_iteration)
print("test F1: %.4f" % f1_score(y_te, p > 0.3))
