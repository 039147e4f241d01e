# Churn model: customers of many small resellers.
import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(23)

n_customers = 9000
n_resellers = 3000
reseller_effect = rng.normal(0, 0.5, n_resellers)

df = pd.DataFrame({
    "reseller": rng.integers(0, n_resellers, n_customers),
    "age": rng.integers(18, 80, n_customers),
    "tenure": rng.exponential(24, n_customers).round(1),
    "calls": rng.poisson(2.5, n_customers),
    "bill": rng.normal(45, 12, n_customers).round(2),
})
logit = (
    -0.3 - 0.04 * (df.tenure - 24) + 0.45 * (df.calls - 2.5)
    + 0.04 * (df.bill - 45) + reseller_effect[df.reseller]
)
df["churn"] = (rng.random(n_customers) < 1 / (1 + np.exp(-logit))).astype(int)

train, test = train_test_split(df, test_size=0.25, random_state=23, stratify=df.churn)
train, test = train.copy(), test.copy()

# the reseller id has far too many values for one-hot columns: use its churn rate
prior = train.churn.mean()
rates = train.groupby("reseller").churn.mean()
train["reseller_rate"] = train.reseller.map(rates)
test["reseller_rate"] = test.reseller.map(rates).fillna(prior)

columns = ["age", "tenure", "calls", "bill", "reseller_rate"]
model = CatBoostClassifier(
    iterations=250,
    learning_rate=0.08,
    depth=5,
    loss_function="Logloss",
    random_seed=23,
    thread_count=1,
    verbose=25,
    allow_writing_files=False,
)
model.fit(train[columns], train.churn)

for name, part in (("train", train), ("test", test)):
    p = model.predict_proba(part[columns])[:, 1]
    print(f"{name:5s} logloss {log_loss(part.churn, p):.4f}  auc {roc_auc_score(part.churn, p):.4f}")

importance = pd.Series(model.get_feature_importance(), index=columns).sort_values(ascending=False)
print(importance.round(2))
