"""The command line: one small file a command, and what they share.

main.py      the parser, and what becomes of errors
check.py     boomslang check, with report.py (what it says) and certificates.py (what it writes)
explain.py   boomslang explain, with story.py (the argument in colours)
verify.py    boomslang verify
stats.py     boomslang stats
cat.py       boomslang cat
convert.py   boomslang convert
ir.py        boomslang ir
levels.py    boomslang levels

screen.py    the only place that prints
watch.py     work in the background, with a progress bar
loading.py   from a path to a trace
exits.py     exit codes: a script must be able to tell "your database broke its promise" from "you mistyped"
"""
