"""Reports that tools of the operator's write, in the formats that many tools know."""
