import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, Pool
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

# Will the customer cancel? Mixed table with categories.
rng = np.random.default_rng(15)
n = 12000
df = pd.DataFrame({
    "plan": rng.choice(["free", "basic", "plus", "pro"], n, p=[0.4, 0.3, 0.2, 0.1]),
    "country": rng.choice([f"c{i}" for i in range(25)], n),
    "age_days": rng.exponential(300, n).round(),
    "tickets": rng.poisson(1.2, n),
    "minutes": rng.gamma(2.0, 40, n),
})
country_effect = {f"c{i}": v for i, v in enumerate(rng.normal(0, 0.8, 25))}
score = (df["plan"].map({"free": 0.9, "basic": 0.1, "plus": -0.5, "pro": -1.1})
         + df["country"].map(country_effect) + 0.5 * df["tickets"]
         - 0.015 * df["minutes"] * (df["plan"] != "free") - 0.002 * df["age_days"] - 0.8)
df["cancel"] = (rng.random(n) < 1 / (1 + np.exp(-1.5 * score))).astype(int)

cats = ["plan", "country"]
train, test = train_test_split(df, test_size=0.25, random_state=15, stratify=df["cancel"])
train, valid = train_test_split(train, test_size=0.2, random_state=15, stratify=train["cancel"])
pool = lambda d: Pool(d.drop(columns="cancel"), d["cancel"], cat_features=cats)

clf = CatBoostClassifier(iterations=500, learning_rate=0.05, depth=5, eval_metric="AUC", od_type="Iter", od_wait=60,
                         random_seed=15, thread_count=1, verbose=50, allow_writing_files=False)
clf.fit(pool(train), eval_set=pool(valid))
print("trees kept:", clf.tree_count_)
print("test AUC: %.4f" % roc_auc_score(test["cancel"], clf.predict_proba(pool(test))[:, 1]))
