"""What a job does, told in verbs: run(job, context) → follow-up jobs."""
