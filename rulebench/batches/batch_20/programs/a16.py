"""Click prediction with high-cardinality ids, encoded by their click rate."""
import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from sklearn.metrics import roc_auc_score, log_loss

SEED = 99
rng = np.random.default_rng(SEED)


def simulate(n):
    merchants = rng.zipf(1.35, size=n) % 3000
    campaign = rng.integers(0, 2000, size=n)
    hour = rng.integers(0, 24, size=n)
    price = rng.lognormal(3, 0.6, size=n)
    device = rng.integers(0, 4, size=n)
    logit = (
        -1.0
        + 0.9 * np.sin(2 * np.pi * hour / 24)
        - 0.8 * (np.log(price) - 3)
        + np.array([0.0, 0.5, -0.5, 0.8])[device]
    )
    click = rng.uniform(size=n) < 1 / (1 + np.exp(-logit))
    return pd.DataFrame({
        "merchant": merchants, "campaign": campaign, "hour": hour,
        "price": price, "device": device, "click": click.astype(int),
    })


train_df = simulate(8000)
test_df = simulate(4000)
prior = train_df["click"].mean()
print("click rate", round(prior, 4))


def encode(train, test, col):
    """Mean-target encoding of one id column."""
    stats = train.groupby(col)["click"].mean()
    train_enc = train[col].map(stats)
    test_enc = test[col].map(stats).fillna(prior)
    return train_enc, test_enc


for col in ["merchant", "campaign"]:
    tr, te = encode(train_df, test_df, col)
    train_df[col + "_rate"] = tr
    test_df[col + "_rate"] = te

features = ["hour", "price", "device", "merchant_rate", "campaign_rate"]
n_fit = int(0.8 * len(train_df))
fit_part, val_part = train_df.iloc[:n_fit], train_df.iloc[n_fit:]

model = CatBoostClassifier(
    iterations=1200,
    learning_rate=0.03,
    depth=5,
    loss_function="Logloss",
    eval_metric="AUC",
    random_seed=SEED,
    thread_count=1,
    allow_writing_files=False,
)
model.fit(
    fit_part[features], fit_part["click"],
    eval_set=(val_part[features], val_part["click"]),
    verbose=100,
)

val_p = model.predict_proba(val_part[features])[:, 1]
print("validation AUC %.4f" % roc_auc_score(val_part["click"], val_p))
test_p = model.predict_proba(test_df[features])[:, 1]
print("test AUC %.4f  logloss %.4f" % (
    roc_auc_score(test_df["click"], test_p), log_loss(test_df["click"], test_p)))
for name, imp in sorted(zip(features, model.get_feature_importance()), key=lambda t: -t[1]):
    print(f"{name:15s} {imp:6.2f}")
