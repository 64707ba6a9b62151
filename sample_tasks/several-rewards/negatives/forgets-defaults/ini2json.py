import json
import re
import sys

sections: dict[str, dict[str, object]] = {}
options: dict[str, object] = {}
for line in sys.stdin.buffer.read().decode("utf-8").splitlines():
    line = line.strip()
    if not line or line[0] in "#;":
        continue
    if line.startswith("["):
        options = sections[line.strip("[]")] = {}
        continue
    name, _, value = (part.strip() for part in line.partition("="))
    if value.lower() in ("true", "false"):
        options[name.lower()] = value.lower() == "true"
    elif re.fullmatch(r"[+-]?\d+", value):
        options[name.lower()] = int(value)
    else:
        options[name.lower()] = value
print(json.dumps(sections))
