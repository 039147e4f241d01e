import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, Pool
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

SEED = 10
rng = np.random.default_rng(SEED)
n = 16000
df = pd.DataFrame({
    "city": rng.choice(["Lyon", "Oslo", "Porto", "Graz", "Turin"], n),
    "plan": rng.choice(["basic", "plus", "pro"], n, p=[0.5, 0.3, 0.2]),
    "age": rng.integers(18, 80, n),
    "income": rng.lognormal(10, 0.5, n),
    "calls": rng.poisson(3, n),
    "tenure": rng.exponential(24, n),
})
z = (1.2 * (df.plan == "pro") - 0.9 * (df.plan == "basic") + 0.5 * df.city.isin(["Oslo", "Graz"])
     - 0.04 * df.tenure + 0.5 * (df.calls - 3) + 0.9 * np.log(df.income / 22000) * (df.age < 45))
df["leaves"] = (rng.random(n) < 1 / (1 + np.exp(-1.5 * z))).astype(int)

train, test = train_test_split(df, test_size=0.2, stratify=df.leaves, random_state=SEED)
train, valid = train_test_split(train, test_size=0.2, stratify=train.leaves, random_state=SEED)
features, cats = ["city", "plan", "age", "income", "calls", "tenure"], ["city", "plan"]
mk = lambda d: Pool(d[features], d.leaves, cat_features=cats)

model = CatBoostClassifier(iterations=1000, learning_rate=0.03, depth=5, loss_function="Logloss", eval_metric="AUC",
                           random_seed=SEED, thread_count=1, verbose=200, allow_writing_files=False)
model.fit(mk(train), eval_set=mk(valid), early_stopping_rounds=80)

p = model.predict_proba(test[features])[:, 1]
print("share leaving", round(df.leaves.mean(), 3))
print(f"test AUC {roc_auc_score(test.leaves, p):.4f}  accuracy {accuracy_score(test.leaves, p > 0.5):.4f}")
