"""What to do when a rule fires."""
