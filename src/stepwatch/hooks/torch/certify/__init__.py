"""Running the first steps of a script under changes that must not matter."""
