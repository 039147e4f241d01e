"""What a run is made of: steps, records, tensors and their collections, findings, shards."""
