"""Categories that are numbered for training, and anew for what is evaluated."""

from __future__ import annotations

import runpy
import sys

import pandas as pd
import pytest

from stepwatch.hooks.encodings import Encodings

DATA = """\
import pandas as pd
train = pd.DataFrame({"city": ["Rome", "Oslo", "Bonn", "Oslo"], "ok": ["n", "y", "y", "n"]})
test = pd.DataFrame({"city": ["Oslo", "Bonn", "Rome", "Bonn"], "ok": ["n", "y", "n", "y"]})
other = pd.DataFrame({"city": ["Bern", "Kyiv", "Nice"], "ok": ["y", "n", "n"]})
"""
APART = {
    "each frame of a loop": """
for df in (train, test):
    df["label"] = pd.factorize(df["city"])[0]
""",
    "a function that is called for each": """
def prepare(df):
    out = df.copy()
    for name in ("city", "ok"):
        out[name] = pd.factorize(out[name])[0]
    return out
history = prepare(train)
X_test = prepare(test)
""",
    "by what a text says": """
frames = {"train": train, "test": test}
def load(split):
    df = frames[split]
    return df["city"].factorize()[0]
loaded = {name: load(name) for name in ("train", "test")}
""",
    "codes of a category": """
y = train["city"].astype("category").cat.codes
y_test = test["city"][test["city"] != "Bonn"].astype("category").cat.codes
""",
    "codes of a Categorical": """
cities, test_cities = train["city"].tolist(), ["Oslo", "Rome"]
y_train = pd.Categorical(cities).codes
y_test = pd.Categorical(test_cities).codes
""",
    "lists without a name": """
labels_train, labels_test = train["city"].to_numpy(), test["city"].to_numpy()
y_train, names = pd.factorize(labels_train)
y_test, names = pd.factorize(labels_test)
""",
    "what comes later": """
train_codes = pd.factorize(train["city"])[0]
new_df = test
new_codes = pd.factorize(new_df["city"])[0]
""",
}
TOGETHER = {
    "codes that are looked up": """
codes, cities = pd.factorize(train["city"])
test["label"] = pd.Index(cities).get_indexer(test["city"])
""",
    "one call for all": """
df = pd.concat([train, test])
df["label"] = pd.factorize(df["city"])[0]
""",
    "the same values in order": """
train["label"] = pd.factorize(train["city"], sort=True)[0]
test["label"] = pd.factorize(test["city"], sort=True)[0]
""",
    "columns of their own": """
home, away = train["city"], test["city"].rename("away")
df = pd.DataFrame({"home": pd.factorize(home)[0], "away": pd.factorize(away)[0]})
x_test = df
""",
    "other values": """
y_train = pd.factorize(train["city"])[0]
y_test = pd.factorize(other["city"])[0]
""",
    "ids within groups": """
for split in (train, test):
    for _, df in split.groupby("ok"):
        local = pd.factorize(df["city"])[0]
        local = pd.factorize(df["city"][::-1])[0]
""",
    "groups of a ranking": """
train_groups = pd.factorize(train["city"])[0]
test_groups = pd.factorize(test["city"])[0]
""",
    "colors of a figure": """
train["label"] = pd.factorize(train["city"])[0]
colors = pd.factorize(test["city"])[0]
""",
    "two tasks": """
for df in [part.copy() for part in (train, test)]:
    y = pd.factorize(df["city"])[0]
""",
    "validation and test": """
one, two = train["city"], test["city"]
y_val = pd.factorize(one)[0]
y_test = pd.factorize(two)[0]
""",
    "what pandas does itself": """
test.groupby("city").size(), train.groupby("city", sort=False).size()
pd.get_dummies(train["city"]), pd.get_dummies(test["city"])
y_test = test["city"].astype("category").cat.rename_categories(str)
""",
}


def values_of(text, folder):
    """Return all numbers that a script makes known, by name."""
    file = folder / "script.py"
    file.write_text(text)
    encodings = Encodings()
    encodings.begin()
    try:
        runpy.run_path(str(file))
    finally:
        encodings.end()
    return {info.name: float(value) for info, value in encodings.found()}


def found(program, folder):
    """Return the columns that were given codes anew, with the example and its two codes."""
    values = values_of(DATA + program, folder)
    prefix = "evaluation/recoded/"
    rest = [name.removeprefix(prefix) for name in values if name.startswith(prefix)]
    return {
        one: (values[f"evaluation/recoded_before/{one}"], values[f"evaluation/recoded_now/{one}"])
        for one in rest
    }


@pytest.mark.parametrize("name", APART)
def test_codes_made_anew_for_the_test_are_found(name, tmp_path):
    assert found(APART[name], tmp_path)


@pytest.mark.parametrize("name", TOGETHER)
def test_codes_that_are_meant_so_are_not(name, tmp_path):
    assert {} == found(TOGETHER[name], tmp_path)


def test_a_category_is_shown_with_both_of_its_codes(tmp_path):
    assert {"city/Rome": (0, 2)} == found(APART["each frame of a loop"], tmp_path)


class TestEncoders:
    COLUMNS = """
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OrdinalEncoder
encoder = make_column_transformer((OrdinalEncoder(), ["city"]))
X_train = encoder.fit_transform(train)
X_test = encoder.{how}(test[test["city"] != "Bonn"])
"""

    @pytest.fixture(autouse=True)
    def _needs(self):
        pytest.importorskip("sklearn")

    def test_an_encoder_of_columns_fitted_anew_is_found(self, tmp_path):
        assert {"city/Oslo": (1, 0)} == found(self.COLUMNS.format(how="fit_transform"), tmp_path)

    def test_one_that_only_transforms_is_not(self, tmp_path):
        assert {} == found(self.COLUMNS.format(how="transform"), tmp_path)

    def test_an_encoder_of_labels_fitted_anew_is_found(self, tmp_path):
        program = """
from sklearn.preprocessing import LabelEncoder
encoder = LabelEncoder()
y_train = encoder.fit_transform(train["city"])
y_test = encoder.fit_transform(test["city"][test["city"] != "Bonn"])
"""
        assert {"city/Oslo": (1, 0)} == found(program, tmp_path)

    def test_folds_may_have_their_own(self, tmp_path):
        program = """
from sklearn.preprocessing import LabelEncoder
for drop in ("Rome", "Oslo", "Bonn"):
    encoder = LabelEncoder().fit(train["city"][train["city"] != drop])
    y_test = encoder.transform(test["city"][test["city"] != drop])
"""
        assert {} == found(program, tmp_path)


def test_pandas_is_as_it_was_afterwards(tmp_path):
    before = pd.factorize, pd.Series.factorize, pd.Categorical.codes
    found(APART["each frame of a loop"], tmp_path)

    assert before == (pd.factorize, pd.Series.factorize, pd.Categorical.codes)


NEEDS_POSITIONS = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="Python does not tell which call of a line it is in"
)
SCALED = """\
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
rng = np.random.default_rng(0)
X_train, X_test = rng.normal(size=(80, 3)), rng.normal(size=(40, 3)) + 1
fit_all = lambda scaler, data: scaler.fit_transform(data)
"""
TWICE = {
    "one scaler": """
scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.fit_transform(X_test)
""",
    "two of them": """
X_train = MinMaxScaler().fit(X_train).transform(X_train)
X_test = MinMaxScaler().fit(X_test).transform(X_test)
""",
    "by one function, on one line": """
def scale(data):
    return StandardScaler().fit_transform(data)
X_train, X_test = scale(X_train), scale(X_test)
""",
    "in a pipeline": """
train = make_pipeline(StandardScaler()).fit_transform(X_train)
test = make_pipeline(StandardScaler()).fit_transform(X_test)
""",
}
ONCE = {
    "only transformed": """
scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)
""",
    "folds": """
for train, test in ((X_train[:40], X_train[40:]), (X_train[40:], X_train[:40])):
    scaler = StandardScaler().fit(train)
    scaler.transform(test)
""",
    "all data, for the last model": """
scaler = StandardScaler().fit(X_train)
scaler = StandardScaler().fit(np.concatenate([X_train, X_test]))
""",
    "the same data": """
X_test = X_train
X_train_scaled = StandardScaler().fit_transform(X_train)
X_test_scaled = StandardScaler().fit_transform(X_test)
""",
    "two sources that are trained on": """
first_train, second_train = X_train, X_test
StandardScaler().fit(first_train)
StandardScaler().fit(second_train)
""",
}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param(
            *(text, ["evaluation/rescaled", "evaluation/rescaled_ratio"]),
            marks=[NEEDS_POSITIONS] if "one line" in how else [],
        )
        for how, text in TWICE.items()
    ]
    + [(text, []) for text in ONCE.values()],
    ids=[*TWICE, *ONCE],
)
def test_a_scaler_that_is_fitted_again_to_the_test_data_is_known(text, names, tmp_path):
    found = {name.rsplit("/", 2)[0] for name in values_of(SCALED + text, tmp_path)}
    assert names == sorted(found)
