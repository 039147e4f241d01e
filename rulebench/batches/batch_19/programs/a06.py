import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.metrics import roc_auc_score, log_loss

SEED = 31
rng = np.random.default_rng(SEED)

cities = [f"city_{i:02d}" for i in range(30)]
channels = ["web", "app", "store", "phone"]
plans = ["free", "basic", "plus", "pro", "team"]
city_eff = dict(zip(cities, rng.normal(scale=1.3, size=len(cities))))
chan_eff = dict(zip(channels, [0.8, 0.2, -0.5, -1.0]))
plan_eff = dict(zip(plans, [1.2, 0.4, -0.1, -0.7, -1.2]))


def make_frame(n):
    df = pd.DataFrame(
        {
            "city": rng.choice(cities, n),
            "channel": rng.choice(channels, n, p=[0.4, 0.3, 0.2, 0.1]),
            "plan": rng.choice(plans, n),
            "tenure": rng.gamma(2.0, 10.0, n),
            "spend": rng.lognormal(3.0, 0.6, n),
            "tickets": rng.poisson(1.2, n),
        }
    )
    z = (
        df.city.map(city_eff)
        + df.channel.map(chan_eff)
        + df.plan.map(plan_eff)
        - 0.03 * (df.tenure - 20)
        + 0.3 * (df.tickets - 1)
    )
    df["churn"] = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    return df


df = make_frame(9000)
train_df = df.iloc[:6000].copy()
new_df = df.iloc[6000:].copy()

CAT = ["city", "channel", "plan"]
FEATURES = CAT + ["tenure", "spend", "tickets"]


def encode(frame):
    frame = frame.copy()
    for col in CAT:
        frame[col] = pd.factorize(frame[col])[0]
    return frame


train_enc = encode(train_df)
fit_part = train_enc.iloc[:4800]
val_part = train_enc.iloc[4800:]

model = xgb.XGBClassifier(
    n_estimators=300,
    learning_rate=0.06,
    max_depth=5,
    subsample=0.8,
    colsample_bytree=0.8,
    eval_metric="logloss",
    early_stopping_rounds=30,
    random_state=SEED,
    n_jobs=1,
)
model.fit(
    fit_part[FEATURES],
    fit_part["churn"],
    eval_set=[(fit_part[FEATURES], fit_part["churn"]), (val_part[FEATURES], val_part["churn"])],
    verbose=25,
)
p_val = model.predict_proba(val_part[FEATURES])[:, 1]
print("best iteration", model.best_iteration)
print(f"validation auc {roc_auc_score(val_part['churn'], p_val):.4f}")

new_enc = encode(new_df)
p_new = model.predict_proba(new_enc[FEATURES])[:, 1]
print(f"new customers auc {roc_auc_score(new_enc['churn'], p_new):.4f}")
print(f"new customers logloss {log_loss(new_enc['churn'], p_new):.4f}")
print(pd.Series(model.feature_importances_, FEATURES).sort_values(ascending=False))
