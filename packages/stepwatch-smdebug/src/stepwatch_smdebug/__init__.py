"""SageMaker Debugger's world on Stepwatch, found by entry points."""
