"""GitHub's REST API, one module a resource: thin handlers over the operations."""
