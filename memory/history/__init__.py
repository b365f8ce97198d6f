"""What a repository's past says of a finding, and how well that would have told what people see to. Pure."""
