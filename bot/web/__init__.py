"""The web process: signed deliveries in, jobs out."""
