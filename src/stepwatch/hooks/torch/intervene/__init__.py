"""What is done to a training between two of its steps."""
