"""A stand-in for a model: an OpenAI-compatible server that follows a script."""
