"""The objects of GitHub's REST API and webhooks, drawn from the world."""
