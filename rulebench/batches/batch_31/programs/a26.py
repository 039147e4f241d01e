import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

SEED = 7
rng = np.random.default_rng(SEED)

# booking cancellations
n = 40000
hotels = np.array([f"H{i:02d}" for i in range(30)])
agents = np.array([f"A{i:03d}" for i in range(60)])
channels = np.array(["web", "phone", "agency", "corporate", "walk-in"])
df = pd.DataFrame({
    "hotel": rng.choice(hotels, n),
    "agent": rng.choice(agents, n),
    "channel": rng.choice(channels, n, p=[0.4, 0.1, 0.3, 0.15, 0.05]),
    "lead_days": rng.gamma(1.5, 30, n).round(),
    "nights": rng.integers(1, 10, n),
    "price": rng.normal(120, 30, n).round(2),
})
eff = {h: e for h, e in zip(hotels, rng.normal(0, 1.0, 30))}
eff.update({a: e for a, e in zip(agents, rng.normal(0, 1.2, 60))})
eff.update(dict(zip(channels, [0.5, -0.3, 0.2, -0.8, -1.5])))
z = (df.hotel.map(eff) + df.agent.map(eff) + df.channel.map(eff) + 0.012 * (df.lead_days - 45) + 0.05 * (df.nights - 5) - 0.5)
df["cancelled"] = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)

train, rest = train_test_split(df, test_size=0.4, random_state=SEED)
valid, test = train_test_split(rest, test_size=0.5, random_state=SEED)
CATS = ["hotel", "agent", "channel"]


def prepare(frame):
    out = frame.drop(columns="cancelled").copy()
    for c in CATS:
        out[c] = pd.factorize(out[c])[0]
    return out, frame["cancelled"].values


X_tr, y_tr = prepare(train)
X_va, y_va = prepare(valid)
X_te, y_te = prepare(test)

dtrain = lgb.Dataset(X_tr, y_tr, categorical_feature=CATS)
dvalid = lgb.Dataset(X_va, y_va, reference=dtrain, categorical_feature=CATS)
params = dict(objective="binary", metric=["binary_logloss", "auc"], learning_rate=0.02, num_leaves=31,
              min_data_in_leaf=40, feature_fraction=0.8, bagging_fraction=0.8, bagging_freq=1,
              cat_smooth=20, num_threads=1, seed=SEED, verbose=-1)
log = {}
booster = lgb.train(params, dtrain, num_boost_round=900, valid_sets=[dtrain, dvalid], valid_names=["train", "valid"],
                    callbacks=[lgb.log_evaluation(100), lgb.record_evaluation(log)])
imp = dict(zip(booster.feature_name(), booster.feature_importance("gain").round()))
print("gain:", imp)
print("test AUC: %.4f" % roc_auc_score(y_te, booster.predict(X_te)))
