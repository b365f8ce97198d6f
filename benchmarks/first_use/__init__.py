"""What a new user reads: whole sessions of `apprentice` in real repositories, each line kept, and held against plain pytest."""
