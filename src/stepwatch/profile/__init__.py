"""Where the time of a training goes, and what its machines do meanwhile."""
