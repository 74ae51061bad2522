"""The modules of bench/check_originals.py: each original, the tests and the reader of traces."""
