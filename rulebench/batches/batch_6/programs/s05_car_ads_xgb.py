# Kaggle-ish kernel: used cars, who sells within 30 days?
import numpy as np, pandas as pd
import xgboost as xgb
from sklearn.metrics import roc_auc_score, accuracy_score

np.random.seed(100)
makes = ["vw", "ford", "opel", "fiat", "bmw", "audi", "seat", "kia", "skoda", "volvo", "mazda", "honda"]
regions = ["north", "south", "east", "west", "centre", "coast"]
eff_m = dict(zip(makes, np.random.randn(len(makes)) * 1.3))
eff_r = dict(zip(regions, np.random.randn(len(regions))))

def sample(n):
    d = pd.DataFrame({"make": np.random.choice(makes, n), "region": np.random.choice(regions, n),
                      "km": np.random.gamma(3, 40000, n), "age": np.random.randint(0, 15, n),
                      "fuel": np.random.choice(["petrol", "diesel", "lpg"], n)})
    z = d.make.map(eff_m) + d.region.map(eff_r) - 0.08 * d.age + (d.fuel == "diesel") * 0.4
    d["sold"] = (np.random.rand(n) < 1 / (1 + np.exp(-z))).astype(int)
    return d

train = sample(4000)
test = sample(1500)

cat_cols = ["make", "region", "fuel"]
for c in cat_cols:
    train[c], uniques = pd.factorize(train[c])
    test[c], _ = pd.factorize(test[c])

X, y = train.drop(columns="sold"), train["sold"]
Xt, yt = test.drop(columns="sold"), test["sold"]

clf = xgb.XGBClassifier(n_estimators=200, max_depth=4, learning_rate=0.08, subsample=0.8, colsample_bytree=0.8,
                        n_jobs=1, eval_metric="logloss", random_state=100)
clf.fit(X, y, eval_set=[(X, y), (Xt, yt)], verbose=25)
p = clf.predict_proba(Xt)[:, 1]
print("AUC %.4f  accuracy %.4f" % (roc_auc_score(yt, p), accuracy_score(yt, p > .5)))
