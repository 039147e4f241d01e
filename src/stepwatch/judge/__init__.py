"""The rule contract, the engine, the causes of findings, and the verdict."""
