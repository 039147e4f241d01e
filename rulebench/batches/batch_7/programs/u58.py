import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.metrics import mean_absolute_error, r2_score

rng = np.random.default_rng(4)
brands = ["audi", "bmw", "dacia", "fiat", "ford", "kia", "opel", "seat", "skoda", "vw"]
base = dict(zip(brands, [31, 35, 12, 14, 18, 17, 19, 16, 20, 25]))
fuels = ["diesel", "electric", "petrol"]


def listing(n):
    b = rng.choice(brands, n)
    f = rng.choice(fuels, n, p=[0.4, 0.2, 0.4])
    age = rng.integers(0, 15, n)
    km = age * rng.normal(14, 3, n).clip(2) + rng.exponential(5, n)
    price = np.array([base[x] for x in b]) * 0.9 ** age + 5 * (f == "electric") - 0.02 * km + rng.normal(0, 1, n)
    return pd.DataFrame(dict(brand=b, fuel=f, age=age, km=km, price=price))


train, test = listing(3000), listing(800)

for col in ["brand", "fuel"]:
    train[col] = pd.factorize(train[col])[0]
    test[col] = pd.factorize(test[col])[0]

features = ["brand", "fuel", "age", "km"]
dtrain = xgb.DMatrix(train[features], label=train.price)
dtest = xgb.DMatrix(test[features], label=test.price)
params = dict(objective="reg:squarederror", eta=0.1, max_depth=5, subsample=0.8, seed=0, nthread=1, eval_metric="mae")
bst = xgb.train(params, dtrain, num_boost_round=200, evals=[(dtrain, "train"), (dtest, "test")], verbose_eval=20)
pred = bst.predict(dtest)
print("test MAE %.3f  R2 %.3f" % (mean_absolute_error(test.price, pred), r2_score(test.price, pred)))
