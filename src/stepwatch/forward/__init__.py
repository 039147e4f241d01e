"""What is found, in the tools that people have open: trackers, telemetry, a file for Prometheus."""
