"""What a page may do, as a Content-Security-Policy: run its own script, be drawn by its own style, and nothing else."""

from __future__ import annotations

import base64
import hashlib


def content_policy(script: str, style: str) -> str:
    """The policy of a page with this text in its script element and this one in its style element, to the byte.

    Data blocks are not run and need no leave. The script writes text and never HTML, so it does without trusted types.
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
