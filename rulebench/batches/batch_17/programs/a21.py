"""Churn model for shops: target encoding + gradient boosting."""
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import roc_auc_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.compose import ColumnTransformer

SEED = 4


def make_customers(n, rng):
    df = pd.DataFrame({
        "zip": rng.integers(0, 2500, n).astype(str),
        "plan": rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]),
        "tenure": rng.exponential(20, n),
        "spend": rng.gamma(2.0, 30.0, n),
        "tickets": rng.poisson(1.0, n),
    })
    logit = (-0.3 + 0.5 * (df.tickets - 1) - 0.03 * (df.tenure - 20)
             + 0.4 * (df.plan == "c") - 0.006 * (df.spend - 60))
    df["churn"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-logit))).astype(int)
    return df


class MeanTargetEncoder(BaseEstimator, TransformerMixin):
    """Replaces each category by the smoothed mean of the target."""

    def __init__(self, smoothing=0.5):
        self.smoothing = smoothing

    def fit(self, X, y):
        X = pd.DataFrame(X).reset_index(drop=True)
        y = pd.Series(np.asarray(y))
        self.prior_ = y.mean()
        self.maps_ = []
        for c in X.columns:
            g = y.groupby(X[c])
            cnt, s = g.count(), g.sum()
            self.maps_.append(((s + self.smoothing * self.prior_) / (cnt + self.smoothing)).to_dict())
        return self

    def transform(self, X):
        X = pd.DataFrame(X).reset_index(drop=True)
        cols = [X[c].map(m).fillna(self.prior_) for c, m in zip(X.columns, self.maps_)]
        return np.column_stack(cols).astype(float)


def main():
    rng = np.random.default_rng(SEED)
    df = make_customers(4000, rng)
    later = make_customers(4000, rng)
    features = ["zip", "plan", "tenure", "spend", "tickets"]
    cats, nums = ["zip", "plan"], ["tenure", "spend", "tickets"]

    prep = ColumnTransformer([
        ("cat", MeanTargetEncoder(), cats),
        ("num", StandardScaler(), nums),
    ])
    X_all = prep.fit_transform(df[features], df["churn"])
    X_tr, X_va, y_tr, y_va = train_test_split(
        X_all, df["churn"].to_numpy(), test_size=0.25, random_state=SEED, stratify=df["churn"])

    clf = xgb.XGBClassifier(n_estimators=400, learning_rate=0.05, max_depth=4, subsample=0.8,
                            colsample_bytree=0.8, eval_metric="auc", early_stopping_rounds=30,
                            n_jobs=1, random_state=SEED)
    clf.fit(X_tr, y_tr, eval_set=[(X_tr, y_tr), (X_va, y_va)], verbose=25)

    p = clf.predict_proba(X_va)[:, 1]
    print(f"best iteration {clf.best_iteration}")
    print(f"validation AUC {roc_auc_score(y_va, p):.3f}  logloss {log_loss(y_va, p):.3f}")
    model = Pipeline([("prep", prep), ("clf", clf)])
    q = model.predict_proba(later[features])[:, 1]
    print(f"next month AUC {roc_auc_score(later['churn'], q):.3f}  logloss {log_loss(later['churn'], q):.3f}")


if __name__ == "__main__":
    main()
