"""Completion in the shell: what the commands take, written out once as a script of bash, zsh or fish.

The script is made from the parsers themselves, so it knows every option there is, and holds the names of levels,
databases, workloads, formats and modules. Nothing of Boomslang runs when the tab key is pressed.
"""
