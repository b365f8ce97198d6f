"""What the figures in README.md come from: `python -m benchmarks.ingest`, `.screen`, `.sandbox` and `.repair`."""
