"""What analyses need besides a trial."""
