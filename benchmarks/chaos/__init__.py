"""Thousands of deliveries while everything is killed, wiped, refused and revoked; what an independent oracle finds after."""
