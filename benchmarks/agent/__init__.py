"""Evaluation runs of the agent on whatever model the settings name."""
