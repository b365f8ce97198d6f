"""Repairs and reviews with a model: the loop, its tools, its strategies, and what is remembered for it."""
