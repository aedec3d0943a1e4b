"""`uzushio schema`."""

from __future__ import annotations

import json

from uzushio._cli.arguments import CaseName


def schema(name: CaseName) -> None:
    """Print the JSON schema of the cases of a solver or model, for editors.

    An editor with a YAML language server completes and checks a case that begins with
    # yaml-language-server: $schema=FILE
    """
    from uzushio.case.schema import json_schema

    print(json.dumps(json_schema(name), indent=2, ensure_ascii=False))
