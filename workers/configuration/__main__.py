"""`python -m workers.configuration` prints the JSON Schema that docs/apprentice.schema.json holds."""

import json
import sys

from workers.configuration.schema import json_schema

if __name__ == "__main__":
    sys.stdout.write(json.dumps(json_schema(), indent=2) + "\n")
