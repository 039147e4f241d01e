"""Churn model on customer table with plan / region / device columns."""
import numpy as np
import pandas as pd
import lightgbm as lgb
from sklearn.metrics import roc_auc_score, log_loss
from sklearn.model_selection import train_test_split

SEED = 17
rng = np.random.default_rng(SEED)
N = 8000

regions = np.array([f"R{i:02d}" for i in range(40)])
plans = np.array(["basic", "plus", "family", "student", "business", "legacy"])
devices = np.array([f"dev_{c}" for c in "abcdefghijkl"])

region_eff = dict(zip(regions, rng.normal(0, 1.2, len(regions))))
plan_eff = dict(zip(plans, rng.normal(0, 1.2, len(plans))))
device_eff = dict(zip(devices, rng.normal(0, 0.8, len(devices))))

df = pd.DataFrame({
    "region": rng.choice(regions, N),
    "plan": rng.choice(plans, N),
    "device": rng.choice(devices, N),
    "tenure": rng.exponential(24, N).round(1),
    "calls": rng.poisson(3, N),
    "bill": rng.normal(40, 12, N).round(2),
})
z = (df.region.map(region_eff) + df.plan.map(plan_eff) + df.device.map(device_eff)
     - 0.03 * df.tenure + 0.25 * (df.calls - 3) + 0.01 * (df.bill - 40))
df["churn"] = (rng.random(N) < 1 / (1 + np.exp(-z))).astype(int)

train, test = train_test_split(df, test_size=0.25, random_state=SEED, stratify=df.churn)
train, valid = train_test_split(train, test_size=0.2, random_state=SEED, stratify=train.churn)

CATS = ["region", "plan", "device"]
NUMS = ["tenure", "calls", "bill"]


def to_features(frame):
    out = frame[NUMS].copy()
    for c in CATS:
        codes, _ = pd.factorize(frame[c])
        out[c] = codes
    return out[CATS + NUMS]


full = pd.concat([train, valid])
feats = to_features(full)
X_train, X_valid = feats.iloc[:len(train)], feats.iloc[len(train):]
X_test = to_features(test)

dtrain = lgb.Dataset(X_train, train.churn, categorical_feature=CATS)
dvalid = lgb.Dataset(X_valid, valid.churn, reference=dtrain)
params = dict(objective="binary", metric=["auc", "binary_logloss"], learning_rate=0.05,
              num_leaves=15, min_data_in_leaf=40, cat_smooth=10, seed=SEED,
              num_threads=1, verbose=-1)
model = lgb.train(params, dtrain, num_boost_round=300, valid_sets=[dtrain, dvalid],
                  valid_names=["train", "valid"],
                  callbacks=[lgb.log_evaluation(50), lgb.early_stopping(50)])

p = model.predict(X_test)
print("trees used", model.best_iteration)
print("test AUC %.4f  logloss %.4f" % (roc_auc_score(test.churn, p), log_loss(test.churn, p)))
top = test.assign(p=p).sort_values("p", ascending=False).head(200)
print("churn rate in top 200: %.3f (overall %.3f)" % (top.churn.mean(), test.churn.mean()))
imp = pd.Series(model.feature_importance("gain"), index=X_train.columns)
print(imp.sort_values(ascending=False).round(0).to_string())
