"""An environment for each repository, by what the repository says about itself."""
