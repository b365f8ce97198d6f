"""The engines of a repair: ways to find a patch, which one loop chooses between and proves the same way."""
