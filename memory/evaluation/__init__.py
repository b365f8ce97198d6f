"""What learning was worth: off-policy estimates, the control arm, outcomes of findings, the audit. Pure."""
