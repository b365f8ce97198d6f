"""Episodic memory and how it is searched: by words, by embeddings, and by both."""
