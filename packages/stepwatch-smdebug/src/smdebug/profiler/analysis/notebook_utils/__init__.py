"""Charts of profiles for notebooks."""
