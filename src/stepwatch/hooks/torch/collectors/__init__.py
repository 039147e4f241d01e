"""What is observed beside weights, gradients and outputs, a collector for each concern."""
