"""Claim cost per policy: mostly zero, a few large amounts."""
import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.metrics import mean_tweedie_deviance
from sklearn.model_selection import train_test_split

POWER = 1.5
rng = np.random.default_rng(43)
n = 30000

policies = pd.DataFrame({
    "driver_age": rng.integers(18, 85, n),
    "car_age": rng.integers(0, 20, n),
    "power": rng.integers(4, 15, n),
    "region": pd.Categorical(rng.choice(list("ABCDEF"), n), categories=list("ABCDEF")),
    "bonus": rng.integers(50, 150, n),
})
exposure = rng.uniform(0.2, 1.0, n)
region_effect = dict(zip("ABCDEF", [0.0, 0.3, -0.2, 0.5, 0.1, -0.4]))
log_rate = (
    -2.2 + 0.012 * (policies.bonus - 80) + 0.8 * (policies.driver_age < 25)
    + policies.region.map(region_effect).astype(float) + 0.04 * policies.power
)
claims = rng.poisson(np.exp(log_rate) * exposure)
amount = np.array([rng.gamma(2.0, 400.0, c).sum() for c in claims])
cost = amount / exposure
print("share of policies without a claim:", round(float((claims == 0).mean()), 3))

idx_train, idx_test = train_test_split(np.arange(n), test_size=0.25, random_state=43)
idx_train, idx_valid = train_test_split(idx_train, test_size=0.2, random_state=43)


def pack(idx, reference=None):
    return lgb.Dataset(policies.iloc[idx], label=cost[idx], weight=exposure[idx], reference=reference)


train_set = pack(idx_train)
valid_set = pack(idx_valid, reference=train_set)
params = {
    "objective": "tweedie",
    "tweedie_variance_power": POWER,
    "metric": "tweedie",
    "learning_rate": 0.03,
    "num_leaves": 8,
    "min_data_in_leaf": 200,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "num_threads": 1,
    "seed": 43,
    "verbose": -1,
}
booster = lgb.train(
    params, train_set, num_boost_round=300, valid_sets=[train_set, valid_set],
    valid_names=["train", "valid"],
    callbacks=[lgb.early_stopping(40), lgb.log_evaluation(25)],
)

pred = booster.predict(policies.iloc[idx_test])
w, y = exposure[idx_test], cost[idx_test]
flat = np.full(len(y), np.average(cost[idx_train], weights=exposure[idx_train]))
truth = np.exp(log_rate.to_numpy()[idx_test]) * 800.0
for name, p in (("constant", flat), ("model", pred), ("true expectation", truth)):
    print(f"{name:17s} deviance {mean_tweedie_deviance(y, p, sample_weight=w, power=POWER):.4f}")
print("correlation with the true expectation", round(float(np.corrcoef(pred, truth)[0, 1]), 4))
print("mean predicted", round(float(np.average(pred, weights=w)), 2),
      "mean observed", round(float(np.average(y, weights=w)), 2))
