from catboost import CatBoostRegressor, Pool
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from sklearn.metrics import mean_squared_error, r2_score
import numpy as np

seed = 12
X, y = make_friedman1(n_samples=6000, n_features=12, noise=1.0, random_state=seed)
rng = np.random.RandomState(seed)
shop = rng.randint(0, 6, len(y))
y = y + np.array([0.0, 2.0, -1.0, 4.0, 1.0, -3.0])[shop]
rows = [list(r) + [f"shop_{s}"] for r, s in zip(X, shop)]

tr, te, ytr, yte = train_test_split(rows, y, test_size=0.2, random_state=seed)
tr, va, ytr, yva = train_test_split(tr, ytr, test_size=0.2, random_state=seed)
cat = [12]
train_pool = Pool(tr, ytr, cat_features=cat)
valid_pool = Pool(va, yva, cat_features=cat)
test_pool = Pool(te, yte, cat_features=cat)

model = CatBoostRegressor(iterations=900, learning_rate=0.06, depth=5, loss_function="RMSE",
                          random_seed=seed, thread_count=1, early_stopping_rounds=60, allow_writing_files=False)
model.fit(train_pool, eval_set=valid_pool, verbose=100)
p = model.predict(test_pool)
print("trees kept:", model.tree_count_)
print("test RMSE %.4f  R2 %.4f" % (mean_squared_error(yte, p) ** 0.5, r2_score(yte, p)))
