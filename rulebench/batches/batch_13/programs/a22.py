"""Machine state from vibration features, xgboost baseline."""
import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

rng = np.random.default_rng(3)
STATES = ["ok", "unbalance", "bearing", "loose", "misaligned"]


def record(state, n=220):
    centre = rng.normal(0, 1.2, size=8)
    block = pd.DataFrame(centre + rng.normal(0, 1.0, size=(n, 8)),
                         columns=[f"f{i}" for i in range(8)])
    block["state"] = STATES.index(state)
    return block


df = pd.concat([record(s) for s in STATES], ignore_index=True)
X, y = df.drop(columns="state"), df["state"]

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, shuffle=False)

pipe = Pipeline([
    ("scale", StandardScaler()),
    ("xgb", XGBClassifier(n_estimators=150, max_depth=4, learning_rate=0.1,
                          n_jobs=1, eval_metric="mlogloss")),
])
pipe.fit(X_train, y_train)

print("train accuracy", accuracy_score(y_train, pipe.predict(X_train)))
print("test accuracy ", accuracy_score(y_test, pipe.predict(X_test)))
print(confusion_matrix(y_test, pipe.predict(X_test), labels=range(5)))
