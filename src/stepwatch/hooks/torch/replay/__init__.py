"""Recording what a step starts from, and running recorded steps again."""
