"""Trainings with XGBoost, healthy and with a fault, that several tests look at."""

from __future__ import annotations

import numpy as np
import xgboost

from stepwatch.hooks.xgboost import XGBoostHook
from stepwatch.rules import Watch, watch
from stepwatch.trial import Trial


def table(rows=400, columns=10, seed=0):
    """Return normal values, shape ``[rows, columns]``."""
    return np.random.default_rng(seed).normal(size=(rows, columns))


def parts(x, y):
    """Return the first half to train on and the second to validate with."""
    half = len(x) // 2
    return xgboost.DMatrix(x[:half], label=y[:half]), xgboost.DMatrix(x[half:], label=y[half:])


def trained(run, parameters, x, y, rounds=30, **options):
    """Train under a hook, judged by both halves; return the run and the model."""
    train, validation = parts(x, y)
    with XGBoostHook(run=run, say=lambda _: None, strict=True, **options):
        model = xgboost.train(
            {"nthread": 1, "seed": 1, **parameters},
            train,
            rounds,
            evals=[(train, "train"), (validation, "validation")],
            verbose_eval=False,
        )
    return Trial(run), model


def found(trial, *rules):
    """Return the findings of rules, and the status of each by its name."""
    engine = Watch(rules)
    findings = list(watch(trial, engine))
    return findings, {one.rule: one.status for one in engine.statuses()}
