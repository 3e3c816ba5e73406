"""Certificates, and the two programs that believe nothing in them: replay (valid) and refute (invalid)."""
