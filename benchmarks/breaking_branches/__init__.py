"""Whether a review names the tests that a branch breaks: real repositories, branches made for this, and plain pytest as the judge."""
