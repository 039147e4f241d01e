import numpy as np
import xgboost as xgb
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, classification_report
from sklearn.model_selection import train_test_split


def main():
    X, y = load_digits(return_X_y=True)
    X_tmp, X_test, y_tmp, y_test = train_test_split(X, y, test_size=0.2, random_state=2, stratify=y)
    X_train, X_val, y_train, y_val = train_test_split(
        X_tmp, y_tmp, test_size=0.2, random_state=2, stratify=y_tmp
    )
    print("train/val/test", len(X_train), len(X_val), len(X_test))

    model = xgb.XGBClassifier(
        n_estimators=250,
        learning_rate=0.1,
        max_depth=4,
        subsample=0.8,
        colsample_bytree=0.5,
        min_child_weight=1,
        reg_lambda=1.0,
        tree_method="hist",
        max_bin=32,
        eval_metric="mlogloss",
        early_stopping_rounds=20,
        n_jobs=1,
        random_state=2,
    )
    model.fit(
        X_train, y_train,
        eval_set=[(X_train, y_train), (X_val, y_val)],
        verbose=25,
    )
    print("best iteration", model.best_iteration, "best score", round(model.best_score, 4))

    pred = model.predict(X_test)
    print("test accuracy", round(accuracy_score(y_test, pred), 4))
    print(classification_report(y_test, pred, digits=3))

    importance = model.feature_importances_.reshape(8, 8)
    print("importance of the cells")
    print(np.round(importance, 3))


if __name__ == "__main__":
    main()
