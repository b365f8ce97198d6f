"""Does the work: repair, review, feedback. Holds the App key and the model key."""
