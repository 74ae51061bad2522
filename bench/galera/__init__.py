"""A Galera cluster of this machine's own, its clients and its faults; bench/cluster_faults.py is the program."""
