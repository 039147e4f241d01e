"""SageMaker's hook configuration: files, and what they mean."""
