"""Hears GitHub and speaks with people. Holds the webhook secret and no other key."""
