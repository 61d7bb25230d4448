"""Write the published schemas anew. Run in the checkout: python -m schemas.generate"""

import json
from pathlib import Path

from lifecycle.core.schemas import json_schemas

for name, schema in json_schemas().items():
    text = json.dumps(schema, indent=2, ensure_ascii=False)
    Path(__file__).with_name(name).write_text(text + "\n", encoding="utf-8")
