"""Reviews with a model: what it is shown, what it may say, how that is checked, and what is remembered of it."""
