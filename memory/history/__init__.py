"""What a repository's history says of a finding, and a backtest of what that predicts. Pure."""
