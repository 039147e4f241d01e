import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.impute import SimpleImputer
from sklearn.metrics import classification_report, confusion_matrix, average_precision_score

# fraud detection, 4% positives
X, y = make_classification(n_samples=8000, n_features=20, n_informative=8, n_redundant=4,
                           weights=[0.96], class_sep=0.9, flip_y=0.01, random_state=5)
X = pd.DataFrame(X, columns=[f"v{i}" for i in range(20)])
rng = np.random.default_rng(5)
X = X.mask(rng.random(X.shape) < 0.03)

X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, test_size=0.25, random_state=1)

neg, pos = np.bincount(y_train)
print("negatives", neg, "positives", pos)

pipe = Pipeline([
    ("imp", SimpleImputer(strategy="median")),
    ("clf", xgb.XGBClassifier(
        n_estimators=200, max_depth=3, learning_rate=0.08,
        subsample=0.9, colsample_bytree=0.8,
        scale_pos_weight=pos / neg,
        eval_metric="logloss", n_jobs=1, random_state=0)),
])
pipe.fit(X_train, y_train)
pred = pipe.predict(X_test)
print(confusion_matrix(y_test, pred))
print(classification_report(y_test, pred, digits=3, zero_division=0))
print("AP", average_precision_score(y_test, pipe.predict_proba(X_test)[:, 1]))
