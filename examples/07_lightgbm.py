"""LightGBM: trees that are large enough to learn every wrong label.

A third of the labels are wrong, and 127 leaves are as many as a third of the rows.

    stepwatch run examples/07_lightgbm.py

Found: `overfit`, with the round at which it began. Mended by smaller trees, or by early stopping.
"""

import lightgbm
import numpy as np

rng = np.random.default_rng(0)
x = rng.normal(size=(600, 20))
label = (x[:, 0] + x[:, 1] > 0) ^ (rng.random(600) < 0.33)

train = lightgbm.Dataset(x[:300], label=label[:300])
validation = train.create_valid(x[300:], label=label[300:])
lightgbm.train(
    {
        "objective": "binary",
        "num_leaves": 127,  # the mistake
        "min_data_in_leaf": 2,
        "verbosity": -1,
    },
    train,
    num_boost_round=100,
    valid_sets=[train, validation],
    valid_names=["train", "validation"],
    callbacks=[lightgbm.log_evaluation(25)],
)
