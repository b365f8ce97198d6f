"""A repository's own past as a teacher: its changes reviewed as they were, and what became of each finding."""
