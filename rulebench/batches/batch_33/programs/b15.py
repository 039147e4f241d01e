"""Knowledge distillation: big MLP teacher -> small student on overlapping classes (credit grades)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

torch.manual_seed(0)
torch.set_num_threads(1)

features, grade = make_classification(n_samples=6000, n_features=20, n_informative=10, n_classes=4, n_clusters_per_class=1,
                                      class_sep=0.9, flip_y=0.15, random_state=0)
X = torch.tensor(features, dtype=torch.float32)
Y = torch.tensor(grade)
tr, te = train_test_split(torch.arange(len(X)).numpy(), test_size=0.3, random_state=0, stratify=Y.numpy())
tr, te = torch.tensor(tr), torch.tensor(te)


def evaluate(net):
    net.eval()
    with torch.no_grad():
        out = net(X[te])
    return (out.argmax(1) == Y[te]).float().mean().item(), F.cross_entropy(out, Y[te]).item()


teacher = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 4))
opt = torch.optim.Adam(teacher.parameters(), lr=1e-3)
for epoch in range(15):
    teacher.train()
    for idx in tr[torch.randperm(len(tr))].split(64):
        loss = F.cross_entropy(teacher(X[idx]), Y[idx])
        opt.zero_grad(); loss.backward(); opt.step()
print("teacher accuracy %.4f nll %.4f" % evaluate(teacher))
for p in teacher.parameters():
    p.requires_grad_(False)
teacher.eval()

# the student only sees 400 labels, plus unlabelled images scored by the teacher
labelled = tr[:400]
T, alpha = 3.0, 0.9
student = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(student.parameters(), lr=2e-3)


def distill_loss(student_logits, teacher_logits):
    p_s = F.softmax(student_logits / T, dim=1)
    p_t = F.softmax(teacher_logits / T, dim=1)
    return F.kl_div(p_s, p_t, reduction="batchmean") * T * T


for epoch in range(30):
    student.train()
    soft_sum = hard_sum = n = 0
    for idx in tr[torch.randperm(len(tr))].split(64):
        with torch.no_grad():
            t_logits = teacher(X[idx])
        soft = distill_loss(student(X[idx]), t_logits)
        hard = F.cross_entropy(student(X[labelled]), Y[labelled])
        loss = alpha * soft + (1 - alpha) * hard
        opt.zero_grad()
        loss.backward()
        opt.step()
        soft_sum += soft.item(); hard_sum += hard.item(); n += 1
    if epoch % 5 == 0 or epoch == 29:
        print(f"epoch {epoch:2d} soft {soft_sum / n:.4f} hard {hard_sum / n:.4f} test acc {evaluate(student)[0]:.4f}")

print("student test accuracy %.4f, test nll %.4f" % evaluate(student))
