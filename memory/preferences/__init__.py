"""What people chose, learned as a reward model that ranks equals, and never overrules tests."""
