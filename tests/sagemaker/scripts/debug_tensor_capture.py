# ruff: noqa - what was pasted stays as it stands
# fmt: off
# debug_tensor_capture.py
import torch
import torch.nn as nn
import torch.optim as optim
import logging
import time
import os
import sagemaker_debugger

# Configure logging
logging.basicConfig(level=logging.INFO, format='%(asctime)s - %(levelname)s - %(message)s')

class SimpleNet(nn.Module):
    def __init__(self):
        super(SimpleNet, self).__init__()
        self.fc = nn.Linear(10, 2)

    def forward(self, x):
        return self.fc(x)

def train():

    logging.info("Starting debugging example...")
    model = SimpleNet()
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    loss_fn = nn.MSELoss()

    # Create a dummy dataset
    X = torch.randn(100, 10)
    y = torch.randn(100, 2)

    for epoch in range(3):
        logging.info(f"Epoch {epoch+1} beginning...")
        for i in range(100):
            optimizer.zero_grad()
            output = model(X[i].unsqueeze(0))
            loss = loss_fn(output, y[i].unsqueeze(0))
            loss.backward()
            optimizer.step()

            sagemaker_debugger.save_tensor(output, "output_tensor", os.path.join("/opt/ml/output/tensors", f"epoch_{epoch+1}_i_{i+1}"))

        logging.info(f"Epoch {epoch+1} completed.")
    logging.info("Debugging example complete.")


if __name__ == "__main__":
    train()
