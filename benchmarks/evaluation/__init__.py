"""The evaluation of the paper that this project is built after, measured again: one file for each kind of question.

`figure.py` says what a figure is, `plan.py` how a cell of one is measured (in a fresh process, with a limit, once),
`answers.py` keeps what was measured, `plots.py` draws it. The others are the figures of the paper, in its order:
`combinations.py`, `case_studies.py`, `lines_of_code.py`, `encodings.py`, `beside_others.py` (which runs the executables
that `checkers.py` finds), `passes.py`, `growth.py`, `violations.py`. `reproduce.py`, one folder up, is the command.

A number of the paper stands where its text or its tables give one; most of its plots have no numbers in the text, and
then only ours are shown, with what the paper says of the plot.
"""
