"""What the agent can do: read and search the checkout, edit it, run its tests in the sandbox, recall, and finish."""
