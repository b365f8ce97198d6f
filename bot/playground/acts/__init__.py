"""What can happen in the world: each act checks, changes the state and announces it by webhook.

Acts are called while the world's lock is held.
"""
