"""Plans for tables that do not fit into memory: balls in the place of people, and a certificate of what that costs.

Blocks of rows are covered by balls (``cover``), those of an arm follow its labels (``arm``), the best pair of balls is
found (``pairs``), and balls are opened until no other pick could be better by more than is tolerated (``campaign``).
"""
