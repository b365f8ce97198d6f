"""A GitHub to play with: a stand-in that speaks real HTTP and real git, and a scripted maintainer."""
