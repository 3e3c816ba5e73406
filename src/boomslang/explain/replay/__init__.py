"""A violation that was recorded from SQL, again: the transactions of its core as a program, or as columns to paste.

`plan.py` chooses what is sent, in which order and on what rows; `script.py` writes it down as a Python file that needs
nothing but the database's driver, `terminals.py` as SQL side by side. `program.py` is what the file does.
"""
