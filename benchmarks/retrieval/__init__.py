"""Whether what is asked for is found, and how fast: on public data, and on vectors like real ones."""
