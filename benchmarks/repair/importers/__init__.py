"""Cases made of what others published: read from a copy that the user names, never kept with the product."""
