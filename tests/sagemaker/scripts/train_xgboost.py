"""Boosts a few trees, as a script for an XGBoost container does."""

import argparse
import os

import numpy as np
import xgboost

parser = argparse.ArgumentParser()
parser.add_argument("--num_round", type=int, default=10)
parser.add_argument("--eta", type=float, default=0.3)
told = parser.parse_args()

x = np.random.default_rng(0).normal(size=(200, 3))
data = xgboost.DMatrix(x, label=x.sum(axis=1))
booster = xgboost.train({"eta": told.eta}, data, told.num_round, evals=[(data, "train")])
print(f"XGBoost {xgboost.__version__}")
booster.save_model(os.path.join(os.environ["SM_MODEL_DIR"], "xgboost-model.json"))
