"""The repair engine on folders of cases: how many it fixes, how many rightly, and how fast."""
