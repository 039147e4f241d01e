# Insurance pure premium: Poisson frequency with exposure as offset, CatBoost and a linear reference model.
# Most policies have no claim at all, exposures run from a few days to a year.
import numpy as np
import pandas as pd
from catboost import CatBoostRegressor, Pool
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance
from sklearn.preprocessing import OneHotEncoder

SEED = 7
rng = np.random.default_rng(SEED)
n = 40000
df = pd.DataFrame({
    "age": rng.integers(18, 85, n),
    "power": rng.integers(4, 16, n),
    "region": rng.choice(list("ABCDEFGH"), n),
    "fuel": rng.choice(["diesel", "petrol"], n),
    "exposure": rng.uniform(0.02, 1.0, n),
})
region_eff = dict(zip("ABCDEFGH", np.linspace(-0.8, 0.8, 8)))
eta = (-1.9 + 1.3 * np.exp(-(df.age - 18) / 8) + 0.06 * (df.power - 9) * (df.fuel == "diesel")
       + df.region.map(region_eff))
df["claims"] = rng.poisson(np.exp(eta) * df.exposure)
print("share of policies without a claim: %.3f" % (df.claims == 0).mean())

cols = ["age", "power", "region", "fuel"]
tr, va, te = df[:28000], df[28000:34000], df[34000:]


def pool(d):
    # baseline = log exposure enters the score as a fixed term
    return Pool(d[cols], d.claims, cat_features=["region", "fuel"], baseline=np.log(d.exposure))


model = CatBoostRegressor(loss_function="Poisson", iterations=500, learning_rate=0.08, depth=4,
                          l2_leaf_reg=6, random_seed=SEED, thread_count=1, verbose=100,
                          allow_writing_files=False)
model.fit(pool(tr), eval_set=pool(va), early_stopping_rounds=50)
pred = np.exp(model.predict(pool(te), prediction_type="RawFormulaVal"))

enc = OneHotEncoder().fit(tr[["region", "fuel"]])
lin = lambda d: np.hstack([enc.transform(d[["region", "fuel"]]).toarray(), d[["age", "power"]].to_numpy() / 50.0])
ref = PoissonRegressor(alpha=1e-4, max_iter=500).fit(lin(tr), tr.claims / tr.exposure, sample_weight=tr.exposure)
pred_ref = ref.predict(lin(te)) * te.exposure
const = tr.claims.sum() / tr.exposure.sum() * te.exposure
for name, p in [("constant", const), ("poisson glm", pred_ref), ("catboost", pred)]:
    print("%-12s test deviance %.4f  predicted/observed claims %.3f"
          % (name, mean_poisson_deviance(te.claims, p), p.sum() / te.claims.sum()))
