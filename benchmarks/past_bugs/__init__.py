"""Past one-line bugs of public repositories, repaired by `apprentice fix` as a user would."""
