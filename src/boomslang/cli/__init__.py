"""The command line.

entry.py            where the command starts
main.py             from words to a command, and what becomes of errors
commands/           one file a command, named as the command
options/            options that several commands share
answer.py           what `check` found, for people and for programs
watched_checker.py  a checker that tells what it is doing
load_plan.py        from options to a load on a database: what `run` and `hunt` share

screen.py           the only place that prints
coloured_story.py   an argument in colours
progress.py         work in the background, with a progress bar
output_files.py     where files may be written, and that they are never half there
certificate_files.py
exit_codes.py       a script must be able to tell "your database broke its promise" from "you mistyped"
"""
