"""A model to play with: an OpenAI-compatible server that follows a script, and records and replays real ones."""
