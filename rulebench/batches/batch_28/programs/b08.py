from catboost import CatBoostRegressor, Pool
from sklearn.datasets import make_friedman1
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.model_selection import train_test_split
import numpy as np

X, y = make_friedman1(n_samples=4000, n_features=12, noise=1.0, random_state=0)
X_rest, X_test, y_rest, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
X_tr, X_val, y_tr, y_val = train_test_split(X_rest, y_rest, test_size=0.2, random_state=1)

model = CatBoostRegressor(iterations=800, learning_rate=0.06, depth=5, loss_function="RMSE",
                          random_seed=0, thread_count=1, allow_writing_files=False)
model.fit(Pool(X_tr, y_tr), eval_set=Pool(X_val, y_val), early_stopping_rounds=50, verbose=100)

pred = model.predict(X_test)
print("importances", np.round(model.get_feature_importance(), 1))
print("trees", model.tree_count_)
print("test RMSE %.3f  R2 %.3f" % (mean_squared_error(y_test, pred) ** 0.5, r2_score(y_test, pred)))
