"""The files of a step: values, their index, and what TensorBoard shows."""
