"""What Apprentice remembers and how it learns; knows neither GitHub nor Celery."""
