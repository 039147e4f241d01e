# Kaggle-style notebook export: customer churn, imbalanced, class weights
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import pandas as pd
import keras
from sklearn.datasets import make_classification
from sklearn.metrics import recall_score, precision_score, f1_score, balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 123
keras.utils.set_random_seed(SEED)

# In[1]
X, y = make_classification(n_samples=6000, n_features=20, n_informative=10, n_redundant=4, weights=[0.85],
                           class_sep=1.0, flip_y=0.02, random_state=SEED)
df = pd.DataFrame(X).assign(churn=y)
print(df.churn.value_counts())

# In[2]
train, test = train_test_split(df, test_size=0.25, stratify=df.churn, random_state=SEED)
sc = StandardScaler().fit(train.drop(columns="churn"))
X_train, X_test = sc.transform(train.drop(columns="churn")), sc.transform(test.drop(columns="churn"))
y_train, y_test = train.churn.values, test.churn.values

# In[3]
neg, pos = np.bincount(y_train)
total = neg + pos
class_weight = {0: total / (2.0 * pos), 1: total / (2.0 * neg)}
print("class weights", class_weight)

# In[4]
model = keras.Sequential([
    keras.Input((20,)),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dropout(0.2),
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy", keras.metrics.Recall(name="recall")])
hist = model.fit(X_train, y_train, validation_data=(X_test, y_test), epochs=15, batch_size=64,
                 class_weight=class_weight, verbose=2)

# In[5]
pred = (model.predict(X_test, verbose=0)[:, 0] > 0.5).astype(int)
print("precision %.3f recall %.3f f1 %.3f balanced acc %.3f" % (
    precision_score(y_test, pred, zero_division=0), recall_score(y_test, pred), f1_score(y_test, pred),
    balanced_accuracy_score(y_test, pred)))
