# ruff: noqa - what was pasted stays as it stands
# fmt: off
# example_logging.py

import logging
import time
import os

# Configure logging
logging.basicConfig(level=logging.INFO, format='%(asctime)s - %(levelname)s - %(message)s')

def train():
    logging.info("Starting training process...")
    for epoch in range(3):
        logging.info(f"Epoch {epoch+1} beginning...")
        time.sleep(1)  # Simulate some work
        logging.info(f"Epoch {epoch+1} completed.")
    logging.info("Training process complete.")

    # Example of using environment variables
    if "SM_CHANNEL_TRAINING" in os.environ:
        training_dir = os.environ["SM_CHANNEL_TRAINING"]
        logging.info(f"Training data located at: {training_dir}")
    else:
         logging.warning("Environment variable SM_CHANNEL_TRAINING not set.")

if __name__ == "__main__":
    train()
