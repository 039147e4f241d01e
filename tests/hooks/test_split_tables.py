"""Tables that hold, when they are split, what rows that are held out must not tell."""

from __future__ import annotations

import runpy

import pytest

from stepwatch.hooks.split_tables import SplitTables


def found_in(script, folder):
    """Run a script; return what is found in the tables that it splits."""
    file = folder / "script.py"
    file.write_text(script)
    tables = SplitTables()
    tables.begin()
    try:
        runpy.run_path(str(file))
    finally:
        tables.end()
    found = {info.name: float(value) for info, value in tables.found()}
    assert [] == [*tables.found()], "it is told once"
    return found


SCRIPT = """\
import numpy as np, pandas as pd
from sklearn.model_selection import train_test_split
rng = np.random.default_rng(0)
df = pd.DataFrame({"shop": rng.integers(0, 400, 2000), "price": rng.normal(size=2000)})
df["bought"] = (rng.random(2000) < 0.3 + 0.4 * rng.random(400)[df["shop"]]).astype(int)
rows = df.sample(frac=0.5, random_state=1) if OTHERS else df
sums = rows.groupby("shop")["bought"].agg(["sum", "count"])
mean = (sums["sum"] + 2 * df["bought"].mean()) / (sums["count"] + 2)
df["shop_mean"] = df["shop"].map(mean).fillna(df["bought"].mean())
"""
BESIDE = 'train_test_split(df.drop(columns="bought"), df["bought"])\n'
STRATIFIED = 'train_test_split(df, stratify=df["bought"])\n'
NAMED = 'train, test = train_test_split(df)\ny_train = train["bought"]\n'
NOT_NAMED = 'train, test = train_test_split(df)\nfeatures = train["bought"]\n'


@pytest.mark.parametrize(
    ("split", "of_others", "found"),
    [
        *((how, False, ["evaluation/encoded/shop_mean"]) for how in (BESIDE, STRATIFIED, NAMED)),
        (BESIDE, True, []),
        (NOT_NAMED, False, []),  # it may be a feature
    ],
    ids=["beside", "stratified", "named", "means of other rows", "not named"],
)
def test_columns_that_encode_the_target_are_found(tmp_path, split, of_others, found):
    values = found_in(f"OTHERS = {of_others}\n{SCRIPT}{split}", tmp_path)

    assert found == [name for name, rows in values.items() if 1 < rows < 10]


DRAWN = """\
import numpy as np, pandas as pd
from sklearn.model_selection import train_test_split
rng = np.random.default_rng(0)
df = pd.DataFrame(rng.normal(size=(1000, 3)).round(3), columns=list("abc"))
df["label"] = (np.arange(1000) < 100).astype(int)
if "before" in HOW:
    df = pd.concat([df, df[df.label == 1].sample(800, replace=True, random_state=1)])
if HOW == "by all":
    df = df.sample(2000, replace=True, random_state=1)
if HOW == "before, beside":
    parts = train_test_split(df[["a", "b", "c"]], df["label"], random_state=0)
else:
    train, test = train_test_split(df, stratify=df.label, random_state=0)
if HOW == "after":
    train = pd.concat([train, train[train.label == 1].sample(800, replace=True, random_state=1)])
"""


@pytest.mark.parametrize(
    ("how", "is_found"),
    [("before", True), ("before, beside", True), ("after", False), ("by all", False)],
)
def test_rows_of_a_class_that_were_drawn_before_the_split_are_found(tmp_path, how, is_found):
    """Where rows of all classes repeat, nothing tells that they were drawn."""
    values = found_in(f"HOW = {how!r}\n{DRAWN}", tmp_path)

    assert is_found is (values.get("evaluation/held_out_rows/train_test_split", 0.0) > 0.3)
