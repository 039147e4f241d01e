"""XGBoost: a column tells the label.

A late fee is only charged to who has already defaulted. The validation loss looks excellent, and
the model is of no use for those of whom nothing is known yet.

    stepwatch run --rules 'default; feature_importance_overweight' examples/06_xgboost.py

Found: `feature_importance_overweight`, with the name of the column. Mended by leaving it out.
"""

import numpy as np
import xgboost

rng = np.random.default_rng(0)
rows = 4000
names = ["income", "age", "debt", "rent", "loans", "cards", "years_in_job", "late_fees"]
x = rng.normal(size=(rows, len(names)))
risk = x[:, 2] + x[:, 3] + x[:, 4] - x[:, 0] - x[:, 1] - x[:, 6]
default = risk + rng.normal(size=rows) > 0
x[:, 7] = np.where(default, rng.uniform(5, 50, rows), 0)  # the mistake

half = rows // 2
train = xgboost.DMatrix(x[:half], label=default[:half], feature_names=names)
validation = xgboost.DMatrix(x[half:], label=default[half:], feature_names=names)
xgboost.train(
    {"objective": "binary:logistic", "max_depth": 4, "eta": 0.1},
    train,
    num_boost_round=100,
    evals=[(train, "train"), (validation, "validation")],
    verbose_eval=25,
)
