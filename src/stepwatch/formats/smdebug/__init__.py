"""The format of smdebug: what its 1.0.34 writes and reads, and all that it should have."""
