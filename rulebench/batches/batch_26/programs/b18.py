import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

seed = 6
X, y = make_classification(n_samples=8000, n_features=25, n_informative=12, n_classes=3,
                           n_clusters_per_class=3, class_sep=1.2, flip_y=0.02, random_state=seed)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
X_train, X_val, y_train, y_val = train_test_split(X_train, y_train, test_size=0.2, random_state=seed, stratify=y_train)

model = xgb.XGBClassifier(
    n_estimators=600,
    learning_rate=0.1,
    max_depth=5,
    subsample=0.8,
    colsample_bytree=0.8,
    reg_lambda=1.0,
    eval_metric="mlogloss",
    early_stopping_rounds=30,
    n_jobs=1,
    random_state=seed,
)
model.fit(X_train, y_train, eval_set=[(X_train, y_train), (X_val, y_val)], verbose=50)
print("best iteration:", model.best_iteration)

p = model.predict_proba(X_test)
print("test log loss: %.4f" % log_loss(y_test, p))
print("test accuracy: %.4f" % accuracy_score(y_test, p.argmax(1)))
