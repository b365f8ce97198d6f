"""What can happen in the world: each operation checks, changes the state and announces it by webhook.

A caller holds the world's lock.
"""
