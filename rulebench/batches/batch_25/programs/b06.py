import lightgbm as lgb
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

SEED = 42
X, y = make_classification(n_samples=12000, n_features=30, n_informative=12, n_redundant=6,
                           n_clusters_per_class=4, flip_y=0.03, random_state=SEED)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=SEED)
X_train, X_valid, y_train, y_valid = train_test_split(X_train, y_train, test_size=0.2, random_state=SEED)

train_set = lgb.Dataset(X_train, y_train)
valid_set = lgb.Dataset(X_valid, y_valid, reference=train_set)
params = dict(objective="binary", metric=["auc", "binary_logloss"], learning_rate=0.05, num_leaves=31,
              feature_fraction=0.8, bagging_fraction=0.8, bagging_freq=1, num_threads=1, seed=SEED, verbose=-1)
booster = lgb.train(params, train_set, num_boost_round=800, valid_sets=[train_set, valid_set],
                    valid_names=["train", "valid"],
                    callbacks=[lgb.early_stopping(40), lgb.log_evaluation(50)])

p = booster.predict(X_test, num_iteration=booster.best_iteration)
print("best iteration", booster.best_iteration)

gain = booster.feature_importance("gain")
order = np.argsort(gain)[::-1]
print("most useful features:")
for i in order[:5]:
    print("  column %2d  gain %.1f" % (i, gain[i]))
print("columns never used:", int((gain == 0).sum()))
print("base rate of the test part: %.3f" % y_test.mean())
print("test AUC %.4f  accuracy %.4f" % (roc_auc_score(y_test, p), ((p > 0.5) == y_test).mean()))
