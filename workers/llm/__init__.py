"""Speaks with a model: messages as values, an OpenAI-compatible endpoint behind a port, budgets that hold."""
