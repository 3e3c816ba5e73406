"""A trace that is checked as it goes by: in windows that go forward, in bounded memory (forward.py)."""
