"""Record any client, in any language, on the wire: a proxy that stands between an application and its database.

    application  <-->  relay.py  <-->  database
                          |
                  a Watcher (postgres/, mysql/): which statements, which answers
                          |
                  exchange.py: into the recorder that `trace_connection` uses, and so the same trace

Bytes are forwarded as they are. What is read of them becomes the same trace that the Python recorder would have
written for the same work (record/conversation.py, record/sql/).
"""
