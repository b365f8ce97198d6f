"""The policy: the Q-table, the learner that chooses and records, what to do with a finding, and versions."""
