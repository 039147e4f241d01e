"""Used car segments with CatBoost."""
import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, Pool
from sklearn.metrics import classification_report
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(123)
N = 9000

MAKERS = ["arko", "belta", "cirrus", "dorn", "elwa", "fjord", "gala", "hulm"]
FUELS = ["petrol", "diesel", "hybrid", "electric"]
maker_bias = {m: rng.normal(0, 1.2, 3) for m in MAKERS}
fuel_bias = {f: rng.normal(0, 0.8, 3) for f in FUELS}

cars = pd.DataFrame({
    "maker": rng.choice(MAKERS, N),
    "fuel": rng.choice(FUELS, N, p=[0.45, 0.3, 0.15, 0.1]),
    "year": rng.integers(2005, 2024, N),
    "km": rng.gamma(3, 30000, N).round(),
    "power": rng.normal(110, 35, N).clip(45).round(),
    "doors": rng.choice([3, 5], N, p=[0.3, 0.7]),
})
cars.loc[rng.random(N) < 0.06, "power"] = np.nan

score = np.stack([maker_bias[m] for m in cars.maker]) + np.stack([fuel_bias[f] for f in cars.fuel])
age = (2024 - cars.year.to_numpy())[:, None] / 10
score = score + age * np.array([[1.0, 0.0, -1.2]])
score = score + (cars.power.fillna(110).to_numpy()[:, None] - 110) / 35 * np.array([[-1.0, 0.2, 1.0]])
score = score + rng.gumbel(0, 0.6, score.shape)
cars["segment"] = np.array(["budget", "family", "premium"])[score.argmax(1)]

features = [c for c in cars.columns if c != "segment"]
categorical = ["maker", "fuel"]
train, test = train_test_split(cars, test_size=0.25, stratify=cars.segment, random_state=1)
train, valid = train_test_split(train, test_size=0.2, stratify=train.segment, random_state=1)

pools = {name: Pool(part[features], part.segment, cat_features=categorical)
         for name, part in [("train", train), ("valid", valid), ("test", test)]}

model = CatBoostClassifier(
    iterations=400,
    depth=5,
    learning_rate=0.1,
    loss_function="MultiClass",
    eval_metric="Accuracy",
    random_seed=1,
    thread_count=1,
    allow_writing_files=False,
)
model.fit(pools["train"], eval_set=pools["valid"], early_stopping_rounds=60, verbose=50)

pred = model.predict(pools["test"]).ravel()
print("class order", list(model.classes_))
print(classification_report(test.segment, pred, digits=3))
print("majority share", test.segment.value_counts(normalize=True).iloc[0])
for name, value in zip(features, model.get_feature_importance(pools["train"])):
    print(f"{name:8s} {value:6.2f}")
