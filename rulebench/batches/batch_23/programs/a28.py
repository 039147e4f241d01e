"""CatBoost on insurance claims with mixed columns and a rare class."""
import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, Pool
from sklearn.metrics import balanced_accuracy_score, classification_report
from sklearn.model_selection import train_test_split

SEED = 44
rng = np.random.default_rng(SEED)
n = 6000
CITIES = [f"city_{i:02d}" for i in range(25)]
CARS = ["compact", "estate", "suv", "sports", "van"]
city_risk = dict(zip(CITIES, rng.normal(0, 0.7, len(CITIES))))
car_risk = {"compact": 0.0, "estate": -0.3, "suv": 0.2, "sports": 1.2, "van": 0.1}

df = pd.DataFrame({
    "city": rng.choice(CITIES, n),
    "car": rng.choice(CARS, n, p=[0.4, 0.2, 0.2, 0.08, 0.12]),
    "age": rng.integers(18, 80, n),
    "km_year": rng.gamma(3, 5, n),
    "past_claims": rng.poisson(0.3, n),
})
risk = (df["city"].map(city_risk) + df["car"].map(car_risk) + 1.2 * (df["age"] < 25)
        + 0.05 * df["km_year"] + 1.0 * df["past_claims"] + 0.6 * rng.normal(size=n))
edges = np.quantile(risk, [0.7, 0.93])
df["claim"] = np.array(["none", "minor", "major"])[np.digitize(risk, edges)]
df.loc[rng.random(n) < 0.05, "km_year"] = np.nan

X, y = df.drop(columns="claim"), df["claim"]
X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=SEED)
X_train, X_valid, y_train, y_valid = train_test_split(X_fit, y_fit, test_size=0.2, stratify=y_fit,
                                                      random_state=SEED)
cats = ["city", "car"]
train_pool = Pool(X_train, y_train, cat_features=cats)
valid_pool = Pool(X_valid, y_valid, cat_features=cats)

model = CatBoostClassifier(
    iterations=400,
    learning_rate=0.08,
    depth=5,
    loss_function="MultiClass",
    auto_class_weights="SqrtBalanced",
    random_seed=SEED,
    od_type="Iter",
    od_wait=50,
    thread_count=1,
    allow_writing_files=False,
)
model.fit(train_pool, eval_set=valid_pool, verbose=50)

pred = model.predict(X_test).ravel()
print(classification_report(y_test, pred, digits=3))
print("balanced accuracy:", round(balanced_accuracy_score(y_test, pred), 3))
importance = sorted(zip(X.columns, model.get_feature_importance(train_pool)), key=lambda p: -p[1])
for name, value in importance:
    print(f"  {name:12s} {value:.1f}")
