"""Churn-like prediction with xgboost."""
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

SEED = 42
rng = np.random.RandomState(SEED)

N = 30000
plans = ["basic", "silver", "gold", "student", "family", "business", "trial", "legacy"]
states = ["CA", "NY", "TX", "WA", "FL", "IL", "OH", "GA", "AZ", "MA", "NJ", "VA"]
pays = ["card", "check", "bank", "paypal", "cash"]

df = pd.DataFrame({
    "plan": rng.choice(plans, N),
    "state": rng.choice(states, N),
    "payment": rng.choice(pays, N),
    "tenure": rng.exponential(24, N).round(),
    "charges": rng.normal(65, 20, N).round(2),
})
w_plan = dict(zip(plans, rng.normal(0, 1.6, len(plans))))
w_state = dict(zip(states, rng.normal(0, 1.0, len(states))))
w_pay = dict(zip(pays, rng.normal(0, 1.2, len(pays))))
logit = (df.plan.map(w_plan) + df.state.map(w_state) + df.payment.map(w_pay)
         - 0.03 * (df.tenure - 20) + 0.02 * (df.charges - 65))
df["churn"] = (rng.rand(N) < 1 / (1 + np.exp(-1.5 * logit))).astype(int)

train, test = train_test_split(df, test_size=0.25, random_state=SEED, stratify=df.churn)
cat_cols = ["plan", "state", "payment"]


def preprocess(frame):
    frame = frame.copy()
    for c in cat_cols:
        frame[c] = pd.factorize(frame[c])[0]
    y = frame.pop("churn")
    return frame, y


X_train, y_train = preprocess(train)
X_test, y_test = preprocess(test)

dtrain = xgb.DMatrix(X_train, label=y_train)
dtest = xgb.DMatrix(X_test, label=y_test)

params = {
    "objective": "binary:logistic",
    "eval_metric": "logloss",
    "eta": 0.02,
    "max_depth": 5,
    "subsample": 0.9,
    "seed": SEED,
    "nthread": 1,
}
booster = xgb.train(params, dtrain, num_boost_round=1200,
                    evals=[(dtrain, "train"), (dtest, "test")], verbose_eval=100)

p = booster.predict(dtest)
print("train acc", accuracy_score(y_train, booster.predict(dtrain) > 0.5))
print("test  acc", accuracy_score(y_test, p > 0.5))
print("test  logloss", log_loss(y_test, p))
