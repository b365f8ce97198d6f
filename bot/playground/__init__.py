"""A stand-in for GitHub that speaks real HTTP and real git, a scripted maintainer, and the demo."""
