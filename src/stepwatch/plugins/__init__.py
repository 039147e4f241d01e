"""Entry points, specs that people write, and optional packages."""
