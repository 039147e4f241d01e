import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.metrics import classification_report, f1_score, recall_score

# card payments, 3 percent fraudulent
X, y = make_classification(n_samples=30000, n_features=25, n_informative=10, n_redundant=5,
                           n_clusters_per_class=3, weights=[0.97], class_sep=1.0, flip_y=0.002, random_state=6)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, stratify=y, random_state=6)
print("fraud rate", ytr.mean())

ratio = ytr.sum() / (len(ytr) - ytr.sum())
print("class weight", ratio)

clf = xgb.XGBClassifier(
    n_estimators=400,
    max_depth=5,
    learning_rate=0.1,
    subsample=0.9,
    colsample_bytree=0.8,
    scale_pos_weight=ratio,
    eval_metric=["logloss", "auc"],
    n_jobs=1,
    random_state=6,
)
clf.fit(Xtr, ytr, eval_set=[(Xtr, ytr), (Xte, yte)], verbose=50)

pred = clf.predict(Xte)
print(classification_report(yte, pred, digits=3))
print("recall", recall_score(yte, pred))
print("F1 of the fraud class", f1_score(yte, pred))
