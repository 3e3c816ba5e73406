"""What a client and a server may agree on, and what the proxy lets them.

Each side's flags pass through it. Those that it does not understand are cleared in the server's greeting, so that the
client does not ask for them; a well-behaved client then does without.

- TLS (`CLIENT_SSL`) ends at whoever can read what is sent, so it is declined towards the client. No password is sent
  as it is for that: `caching_sha2_password` and `sha256_password` encrypt it with the server's RSA key, others send a
  proof in its place.
- Compression, of either kind.
- Query attributes, result sets without their columns' descriptions, progress reports, MariaDB's bulk execution and its
  remembered metadata: these change what messages look like.
"""

from __future__ import annotations

LONG_PASSWORD = 1
"""Of a MariaDB server it is *not* set, and says so that there are extended flags."""
FOUND_ROWS = 1 << 1
CONNECT_WITH_DB = 1 << 3
COMPRESS = 1 << 5
LOCAL_FILES = 1 << 7
PROTOCOL_41 = 1 << 9
SSL = 1 << 11
SECURE_CONNECTION = 1 << 15
MULTI_STATEMENTS = 1 << 16
PLUGIN_AUTH = 1 << 19
PLUGIN_AUTH_LENGTH = 1 << 21
SESSION_TRACK = 1 << 23
DEPRECATE_EOF = 1 << 24
OPTIONAL_METADATA = 1 << 25
ZSTD = 1 << 26
QUERY_ATTRIBUTES = 1 << 27
PROGRESS = 1 << 29

DECLINED = SSL | COMPRESS | ZSTD | QUERY_ATTRIBUTES | OPTIONAL_METADATA | PROGRESS

EXTENDED_METADATA = 1 << 3
"""MariaDB's: a column's description says more of its type."""
EXTENDED_KEPT = EXTENDED_METADATA
"""Of MariaDB's extended flags; all others are cleared, also those that are still to come."""

IN_TRANSACTION = 1
AUTOCOMMIT = 1 << 1
MORE_RESULTS = 1 << 3
CURSOR_EXISTS = 1 << 6
LAST_ROW_SENT = 1 << 7
NO_BACKSLASH_ESCAPES = 1 << 9
STATE_CHANGED = 1 << 14
