"""Find the values of tunable parameters with which a case runs fastest here, and use them.

`subject.py` is what a room declares, `search.py` how points are chosen, `race.py` how they are
timed, `kept.py` and `use.py` how later runs come to use what was found.
"""
