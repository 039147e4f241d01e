"""What the trials of smdebug read, whatever the format."""
