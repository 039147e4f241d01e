import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score, roc_auc_score, average_precision_score
from sklearn.model_selection import train_test_split

# --- claims data: 4 % fraud -------------------------------------------------
X, y = make_classification(n_samples=30000, n_features=25, n_informative=8, n_redundant=4, weights=[0.96],
                           class_sep=0.9, flip_y=0.02, random_state=13)
cols = [f"f{i:02d}" for i in range(X.shape[1])]
df = pd.DataFrame(X, columns=cols)
df["fraud"] = y
incoming = df.iloc[20000:]          # the claims of the following month, come in later
df = df.iloc[:20000].copy()
print(df.fraud.value_counts())

# --- balance the classes ----------------------------------------------------
fraud, rest = df[df.fraud == 1], df[df.fraud == 0]
df = pd.concat([rest, fraud.sample(len(rest), replace=True, random_state=13)])
df = df.sample(frac=1.0, random_state=13).reset_index(drop=True)
print("balanced:", df.shape, df.fraud.mean())

train_df, valid_df = train_test_split(df, test_size=0.25, random_state=13, stratify=df.fraud)

dtrain = xgb.DMatrix(train_df[cols], label=train_df.fraud)
dvalid = xgb.DMatrix(valid_df[cols], label=valid_df.fraud)
params = {"objective": "binary:logistic", "eval_metric": ["logloss", "aucpr"], "eta": 0.1, "max_depth": 6,
          "subsample": 0.8, "colsample_bytree": 0.8, "seed": 13, "nthread": 1}
booster = xgb.train(params, dtrain, num_boost_round=400, evals=[(dtrain, "train"), (dvalid, "valid")],
                    early_stopping_rounds=50, verbose_eval=50)

p = booster.predict(dvalid, iteration_range=(0, booster.best_iteration + 1))
print("best iteration", booster.best_iteration)
print("validation AUC %.4f  AP %.4f" % (roc_auc_score(valid_df.fraud, p), average_precision_score(valid_df.fraud, p)))
print("validation F1 %.4f" % f1_score(valid_df.fraud, p > 0.5))

p_in = booster.predict(xgb.DMatrix(incoming[cols]), iteration_range=(0, booster.best_iteration + 1))
print("next month:  F1 %.4f  AP %.4f" % (f1_score(incoming.fraud, p_in > 0.5), average_precision_score(incoming.fraud, p_in)))
