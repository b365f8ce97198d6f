"""Receives webhooks and offers the command line. Holds the webhook secret and no other key."""
