"""The only SQL. Everything learned is derived from what stands here."""
