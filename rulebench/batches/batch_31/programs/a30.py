"""Which of 8 production lines did a part come from?  The measurements do not fit into memory at once,
so the network is trained chunk by chunk with partial_fit."""
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

SEED = 25
X, y = make_classification(n_samples=16000, n_features=20, n_informative=12, n_classes=8, n_clusters_per_class=1,
                           class_sep=1.5, random_state=SEED)
# parts are stored in the order in which the lines were recorded: line 0 first, then line 1, ...
order = np.argsort(y, kind="stable")
X, y = X[order], y[order]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=SEED)
keep = np.argsort(y_train, kind="stable")         # the split mixes them, the files on disk are not mixed
files_X = np.array_split(X_train[keep], 8)
files_y = np.array_split(y_train[keep], 8)

scaler = StandardScaler()
for part in files_X:
    scaler.partial_fit(part)


def read_files():
    for part_x, part_y in zip(files_X, files_y):
        yield scaler.transform(part_x), part_y


clf = MLPClassifier(hidden_layer_sizes=(64, 32), learning_rate_init=3e-3, batch_size=40, random_state=SEED)
classes = np.arange(8)
for epoch in range(30):
    for part_x, part_y in read_files():
        clf.partial_fit(part_x, part_y, classes=classes)
    if epoch % 5 == 0:
        print(f"pass {epoch:2d}: loss {clf.loss_:.4f}  accuracy on the last file {clf.score(part_x, part_y):.4f}")

pred = clf.predict(scaler.transform(X_test))
print("share of each line in the predictions:", np.bincount(pred, minlength=8) / len(pred))
print("test accuracy:", round(accuracy_score(y_test, pred), 4))
