"""The learner in a simulated world."""
