"""How often ``stepwatch blame`` has the row that was planted first."""
