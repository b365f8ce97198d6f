"""Jobs: Celery carries their ids, the database holds them."""
