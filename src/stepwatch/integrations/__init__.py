"""What is given to trainers and trackers by name: loggers, callbacks, trackers of theirs."""
