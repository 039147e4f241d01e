"""Lead-conversion model (LightGBM) with mean-encoded high-cardinality columns."""
import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

SEED = 8
HIGH_CARD = ["campaign_id", "zip_code", "referrer"]
NUMERIC = ["visits", "minutes_on_site", "pages", "age", "income"]


def load_leads(n=32000):
    rng = np.random.default_rng(SEED)
    df = pd.DataFrame({
        "campaign_id": rng.integers(0, 12000, n),
        "zip_code": rng.integers(0, 16000, n),
        "referrer": rng.integers(0, 10000, n),
        "visits": rng.poisson(4, n),
        "minutes_on_site": rng.gamma(2, 4, n),
        "pages": rng.poisson(9, n),
        "age": rng.normal(42, 12, n),
        "income": rng.lognormal(10.5, 0.5, n),
    })
    score = (0.5 * (df.visits - 4) + 0.22 * (df.minutes_on_site - 8)
             + 0.15 * (df.pages - 9) - 0.03 * (df.age - 42) + rng.logistic(0, 1.0, n))
    df["converted"] = (score > 0.6).astype(int)
    return df


class MeanEncoder:
    def __init__(self, columns, prior_weight=1.0):
        self.columns = columns
        self.prior_weight = prior_weight

    def fit(self, df, target):
        self.prior = target.mean()
        self.maps = {}
        for c in self.columns:
            g = target.groupby(df[c]).agg(["sum", "count"])
            self.maps[c] = (g["sum"] + self.prior * self.prior_weight) / (g["count"] + self.prior_weight)
        return self

    def transform(self, df):
        out = df[NUMERIC].copy()
        for c in self.columns:
            out[c + "_te"] = df[c].map(self.maps[c]).fillna(self.prior)
        return out


leads = load_leads()
train, test = train_test_split(leads, test_size=0.25, random_state=SEED, stratify=leads.converted)

encoder = MeanEncoder(HIGH_CARD).fit(train, train.converted)
X = encoder.transform(train)
X_tr, X_va, y_tr, y_va = train_test_split(X, train.converted, test_size=0.2, random_state=SEED)
X_test = encoder.transform(test)

params = dict(objective="binary", metric="auc", learning_rate=0.03, num_leaves=31,
              min_data_in_leaf=20, verbosity=-1, seed=SEED, num_threads=1)
booster = lgb.train(
    params,
    lgb.Dataset(X_tr, y_tr),
    num_boost_round=400,
    valid_sets=[lgb.Dataset(X_va, y_va)],
    valid_names=["val"],
    callbacks=[lgb.early_stopping(40, verbose=False), lgb.log_evaluation(25)],
)

print("best iteration:", booster.best_iteration)
print("train AUC:", round(roc_auc_score(y_tr, booster.predict(X_tr)), 4))
print("val AUC  :", round(roc_auc_score(y_va, booster.predict(X_va)), 4))
print("test AUC :", round(roc_auc_score(test.converted, booster.predict(X_test)), 4))
