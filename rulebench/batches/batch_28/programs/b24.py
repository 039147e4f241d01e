import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score, classification_report
from sklearn.model_selection import train_test_split
from sklearn.utils import resample

# Fraud detection. The classes are very unbalanced so we upsample the frauds.
X, y = make_classification(n_samples=4000, n_features=16, n_informative=5, n_redundant=2, weights=[0.95],
                           class_sep=0.6, flip_y=0.03, random_state=8)
df = pd.DataFrame(X, columns=[f"V{i}" for i in range(16)])
df["Class"] = y
print(df["Class"].value_counts())


def upsample(frame):
    neg, pos = frame[frame.Class == 0], frame[frame.Class == 1]
    pos_up = resample(pos, replace=True, n_samples=len(neg), random_state=8)
    return pd.concat([neg, pos_up]).sample(frac=1.0, random_state=8)


df = upsample(df)
train, test = train_test_split(df, test_size=0.25, stratify=df.Class, random_state=8)
print("train", train.shape, "test", test.shape)

dtrain = xgb.DMatrix(train.drop(columns="Class"), label=train.Class)
dtest = xgb.DMatrix(test.drop(columns="Class"), label=test.Class)
params = {"objective": "binary:logistic", "max_depth": 6, "eta": 0.08, "subsample": 0.8,
          "eval_metric": ["logloss", "aucpr"], "nthread": 1, "seed": 8}
bst = xgb.train(params, dtrain, num_boost_round=900, evals=[(dtrain, "train"), (dtest, "test")], verbose_eval=100)

pred = (bst.predict(dtest) > 0.5).astype(int)
print(classification_report(test.Class, pred, digits=3))
print("F1 of the fraud class on the test set: %.3f" % f1_score(test.Class, pred))
