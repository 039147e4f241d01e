"""Threads, parallel reads, and facts of processes and the network."""
