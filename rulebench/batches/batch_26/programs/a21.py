import numpy as np
from catboost import CatBoostClassifier
from sklearn.datasets import make_classification
from sklearn.metrics import classification_report, f1_score, average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.utils import resample

# Fraud detection: only 4 % of the transactions are fraudulent
X, y = make_classification(n_samples=5000, n_features=15, n_informative=5, n_redundant=3, weights=[0.96],
                           class_sep=0.7, flip_y=0.02, random_state=33)
print("class counts before:", np.bincount(y))

# balance the classes by sampling the rare one with replacement
rare, common = np.where(y == 1)[0], np.where(y == 0)[0]
boosted = resample(rare, replace=True, n_samples=len(common), random_state=33)
keep = np.concatenate([common, boosted])
Xb, yb = X[keep], y[keep]
print("class counts after: ", np.bincount(yb))

X_train, X_test, y_train, y_test = train_test_split(Xb, yb, test_size=0.25, stratify=yb, random_state=33)

model = CatBoostClassifier(
    iterations=350,
    learning_rate=0.1,
    depth=6,
    loss_function="Logloss",
    eval_metric="F1",
    random_seed=33,
    thread_count=1,
    allow_writing_files=False,
)
model.fit(X_train, y_train, eval_set=(X_test, y_test), use_best_model=True, verbose=100)

prob = model.predict_proba(X_test)[:, 1]
pred = (prob > 0.5).astype(int)
print(classification_report(y_test, pred, digits=3))
print("F1 of the fraud class on the test set:", round(f1_score(y_test, pred), 4))
print("average precision on the test set    :", round(average_precision_score(y_test, prob), 4))
