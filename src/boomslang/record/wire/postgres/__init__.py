"""PostgreSQL's protocol, version 3 (chapter 55 of its manual), read as it goes by.

messages.py cuts the bytes, values.py reads parameters and columns, texts.py cuts a text of several statements,
transport.py is about the first bytes of a connection, watcher.py knows which answer belongs to which statement.
"""
