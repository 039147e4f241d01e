"""What the hooks on boosted trees share; it imports no framework."""
