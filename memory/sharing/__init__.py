"""What one repository learned, as a file that people review, and as a prior elsewhere."""
