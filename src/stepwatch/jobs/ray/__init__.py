"""Work spread over a Ray cluster: Ray says where and when, nothing here does."""
