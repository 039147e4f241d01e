"""Rare failures of pumps: heavily imbalanced binary classification with a tuned threshold."""
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

rng = np.random.default_rng(10)


def pumps(n):
    df = pd.DataFrame({
        "site": rng.choice(list("ABCDEF"), n),
        "temp": rng.normal(60, 9, n),
        "vibration": rng.gamma(2, 1.0, n),
        "hours": rng.uniform(0, 20000, n),
    })
    logit = -7.2 + 0.08 * (df.temp - 60) + 0.8 * (df.vibration - 2) + 0.00012 * df.hours
    logit += np.where((df.site == "C") & (df.vibration > 3), 1.5, 0)
    df["failed"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-logit))).astype(int)
    df.loc[rng.uniform(size=n) < 0.1, "temp"] = np.nan
    return df


def main():
    df = pumps(20000)
    train, rest = train_test_split(df, test_size=0.4, stratify=df.failed, random_state=0)
    val, test = train_test_split(rest, test_size=0.5, stratify=rest.failed, random_state=0)
    print("failure rate", df.failed.mean())

    prep = ColumnTransformer([
        ("site", OneHotEncoder(handle_unknown="ignore"), ["site"]),
        ("num", SimpleImputer(strategy="median", add_indicator=True), ["temp", "vibration", "hours"]),
    ])
    Xt = prep.fit_transform(train)
    Xv, Xs = prep.transform(val), prep.transform(test)

    ratio = np.sqrt((train.failed == 0).sum() / (train.failed == 1).sum())
    clf = xgb.XGBClassifier(n_estimators=2000, learning_rate=0.03, max_depth=3, subsample=0.7,
                            min_child_weight=2, reg_lambda=3.0, scale_pos_weight=ratio, max_delta_step=1,
                            eval_metric=["logloss", "auc"], early_stopping_rounds=60, n_jobs=1, random_state=1)
    clf.fit(Xt, train.failed, eval_set=[(Xv, val.failed)], verbose=50)

    pv = clf.predict_proba(Xv)[:, 1]
    grid = np.linspace(0.05, 0.95, 91)
    best = grid[np.argmax([f1_score(val.failed, pv > g) for g in grid])]
    ps = clf.predict_proba(Xs)[:, 1]
    print("trees", clf.best_iteration + 1, "threshold", best.round(2))
    print("test AUC %.3f AP %.3f F1 %.3f (rate %.3f)" % (
        roc_auc_score(test.failed, ps), average_precision_score(test.failed, ps),
        f1_score(test.failed, ps > best), test.failed.mean()))


if __name__ == "__main__":
    main()
