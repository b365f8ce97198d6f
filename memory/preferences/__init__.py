"""What maintainers prefer, as a reward model that ranks equals."""
