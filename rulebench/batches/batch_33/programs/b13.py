# Click prediction with a high-cardinality shop id. LightGBM + mean encoding of the id.
import numpy as np
import pandas as pd
import lightgbm as lgb
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(8)
N, N_SHOPS = 60000, 22000

shop_effect = rng.normal(0, 0.6, N_SHOPS)
df = pd.DataFrame({
    "shop": rng.integers(0, N_SHOPS, N),
    "price": rng.gamma(2.0, 20.0, N),
    "hour": rng.integers(0, 24, N),
    "discount": rng.choice([0, 5, 10, 20, 40], N),
    "rating": rng.normal(4, 0.5, N).clip(1, 5),
    "visits": rng.poisson(3, N),
})
score = (shop_effect[df["shop"]] - 0.03 * (df["price"] - 40) + 0.05 * df["discount"]
         + 0.8 * np.sin(df["hour"] / 24 * 2 * np.pi) + 0.9 * (df["rating"] - 4) + 0.2 * (df["visits"] - 3) - 0.6)
df["click"] = (rng.random(N) < 1 / (1 + np.exp(-score))).astype(int)

train_df, test_df = train_test_split(df, test_size=0.25, random_state=8)
train_df, test_df = train_df.copy(), test_df.copy()
prior = train_df["click"].mean()

# smoothed mean of the target per shop
SMOOTH = 1.0
stats = train_df.groupby("shop")["click"].agg(["sum", "count"])
s = train_df["shop"].map(stats["sum"])
c = train_df["shop"].map(stats["count"])
train_df["shop_te"] = (s + SMOOTH * prior) / (c + SMOOTH)
enc = (stats["sum"] + SMOOTH * prior) / (stats["count"] + SMOOTH)
test_df["shop_te"] = test_df["shop"].map(enc).fillna(prior)

features = ["price", "hour", "discount", "rating", "visits", "shop_te"]
dtrain = lgb.Dataset(train_df[features], train_df["click"])
dtest = lgb.Dataset(test_df[features], test_df["click"], reference=dtrain)

params = dict(objective="binary", metric=["auc", "binary_logloss"], learning_rate=0.05,
              num_leaves=31, min_data_in_leaf=30, feature_fraction=0.9, verbose=-1, num_threads=1, seed=8)
model = lgb.train(params, dtrain, num_boost_round=500, valid_sets=[dtrain, dtest],
                  valid_names=["train", "test"], callbacks=[lgb.log_evaluation(100)])

print(pd.Series(model.feature_importance("gain"), index=features).sort_values(ascending=False).round(0))
print("test AUC: %.4f" % roc_auc_score(test_df["click"], model.predict(test_df[features])))
