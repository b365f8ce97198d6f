"""What a job costs, how far workers go, and what grows: `python -m benchmarks.scale`."""
